// Dense matrices, row by row; a row may be part of a longer one.
#ifndef FREESTONE_DENSE_MATRIX_H
#define FREESTONE_DENSE_MATRIX_H

#include <runtime/local/datastructures/DataObjectFactory.h>
#include <runtime/local/datastructures/Matrix.h>

template <typename ValueType> class DenseMatrix : public Matrix<ValueType> {
  public:
    using VT = ValueType;
    template <typename Other> using WithValueType = DenseMatrix<Other>;

    std::size_t getRowSkip() const { return this->row_stride; }
    bool isView() const { return this->owner != this; }

    const VT *getValues() const { return static_cast<const VT *>(this->values); }
    VT *getValues() { return static_cast<VT *>(this->values); }

    VT get(std::size_t row, std::size_t column) const {
        return getValues()[row * getRowSkip() + column];
    }
    void set(std::size_t row, std::size_t column, VT value) {
        getValues()[row * getRowSkip() + column] = value;
    }

    // Fill a new matrix in the order of its rows: zeros between what is appended.
    void prepareAppend() {
        for (std::size_t row = 0; row < this->rows; row++)
            std::memset(
                static_cast<void *>(getValues() + row * getRowSkip()), 0,
                this->columns * sizeof(VT));
    }
    void append(std::size_t row, std::size_t column, VT value) { set(row, column, value); }
    void finishAppend() {}

    // Views of some rows, and of some rows and columns: they live no longer than this matrix.
    DenseMatrix *sliceRow(std::size_t first, std::size_t last) const {
        return slice(first, last, 0, this->columns);
    }
    DenseMatrix *sliceCol(std::size_t first, std::size_t last) const {
        return slice(0, this->rows, first, last);
    }
    DenseMatrix *slice(
        std::size_t firstRow, std::size_t lastRow, std::size_t firstColumn, std::size_t lastColumn
    ) const {
        return DataObjectFactory::create<DenseMatrix>(
            this, firstRow, lastRow, firstColumn, lastColumn);
    }

    void print(std::ostream &out) const {
        out << "DenseMatrix(" << this->rows << 'x' << this->columns << ")\n";
        for (std::size_t row = 0; row < this->rows; row++)
            for (std::size_t column = 0; column < this->columns; column++)
                out << +get(row, column) << (column + 1 < this->columns ? ' ' : '\n');
    }

    static freestone_object *make(std::size_t rows, std::size_t columns, bool zero) {
        return freestone_dense(code(), rows, columns, zero);
    }
    static freestone_object *make(
        const DenseMatrix *source, std::size_t firstRow, std::size_t lastRow,
        std::size_t firstColumn, std::size_t lastColumn
    ) {
        if (firstRow > lastRow || lastRow > source->rows || firstColumn > lastColumn ||
            lastColumn > source->columns)
            throw std::out_of_range("a view of a matrix goes beyond it");
        freestone_object *made = freestone_make(
            FREESTONE_DENSE, code(), lastRow - firstRow, lastColumn - firstColumn);
        if (!made)
            return nullptr;
        made->row_stride = source->row_stride;
        made->owner = const_cast<DenseMatrix *>(source);
        made->values = const_cast<VT *>(
            source->getValues() + firstRow * source->row_stride + firstColumn);
        return made;
    }

  private:
    static constexpr std::uint32_t code() {
        return static_cast<std::uint32_t>(ValueTypeUtils::codeFor<VT>());
    }
};

template <typename VT> std::ostream &operator<<(std::ostream &out, const DenseMatrix<VT> &matrix) {
    matrix.print(out);
    return out;
}

#endif
