// Matrices in CSR: the elements that are not 0, row by row.
#ifndef FREESTONE_CSR_MATRIX_H
#define FREESTONE_CSR_MATRIX_H

#include <runtime/local/datastructures/DataObjectFactory.h>
#include <runtime/local/datastructures/Matrix.h>

template <typename ValueType> class CSRMatrix : public Matrix<ValueType> {
  public:
    using VT = ValueType;
    template <typename Other> using WithValueType = CSRMatrix<Other>;

    std::size_t getMaxNumNonZeros() const { return this->capacity; }
    std::size_t getNumNonZeros() const {
        return this->row_offsets[this->rows] - this->row_offsets[0];
    }
    std::size_t getNumNonZeros(std::size_t row) const {
        return this->row_offsets[row + 1] - this->row_offsets[row];
    }

    const VT *getValues() const { return static_cast<const VT *>(this->values); }
    VT *getValues() { return static_cast<VT *>(this->values); }
    const VT *getValues(std::size_t row) const { return getValues() + this->row_offsets[row]; }
    VT *getValues(std::size_t row) { return getValues() + this->row_offsets[row]; }

    const std::size_t *getColIdxs() const { return this->column_indexes; }
    std::size_t *getColIdxs() { return this->column_indexes; }
    const std::size_t *getColIdxs(std::size_t row) const {
        return this->column_indexes + this->row_offsets[row];
    }
    std::size_t *getColIdxs(std::size_t row) {
        return this->column_indexes + this->row_offsets[row];
    }

    const std::size_t *getRowOffsets() const { return this->row_offsets; }
    std::size_t *getRowOffsets() { return this->row_offsets; }

    VT get(std::size_t row, std::size_t column) const {
        for (std::size_t at = this->row_offsets[row]; at < this->row_offsets[row + 1]; at++)
            if (this->column_indexes[at] == column)
                return getValues()[at];
        return VT(0);
    }

    // Fill a new matrix in the order of its rows, and of the columns in each.
    void prepareAppend() {
        std::memset(this->row_offsets, 0, (this->rows + 1) * sizeof(std::size_t));
    }
    void append(std::size_t row, std::size_t column, VT value) {
        if (value == VT(0))
            return;
        std::size_t &stored = this->row_offsets[this->rows];
        if (row >= this->rows || column >= this->columns || stored >= this->capacity)
            throw std::out_of_range("an element is appended where a CSRMatrix has no room");
        getValues()[stored] = value;
        this->column_indexes[stored++] = column;
        // Until all is there, each row says how far it goes; the last offset counts.
        this->row_offsets[row] = stored;
    }
    void finishAppend() {
        std::size_t last = 0;
        for (std::size_t row = 0; row < this->rows; row++) {
            const std::size_t end = this->row_offsets[row] ? this->row_offsets[row] : last;
            this->row_offsets[row] = last;
            last = end;
        }
        this->row_offsets[this->rows] = last;
    }

    static freestone_object *make(
        std::size_t rows, std::size_t columns, std::size_t capacity, bool zero
    ) {
        freestone_object *made = freestone_csr(
            static_cast<std::uint32_t>(ValueTypeUtils::codeFor<VT>()), rows, columns, capacity);
        if (made && zero) {
            std::memset(made->values, 0, capacity * sizeof(VT));
            std::memset(made->column_indexes, 0, capacity * sizeof(std::size_t));
        }
        return made;
    }
};

#endif
