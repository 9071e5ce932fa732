// Frames: columns of one type each, with labels.
#ifndef FREESTONE_FRAME_H
#define FREESTONE_FRAME_H

#include <runtime/local/datastructures/DenseMatrix.h>

#include <cstdlib>
#include <string>
#include <vector>

class Frame : public Structure {
  public:
    ValueTypeCode getColumnType(std::size_t column) const {
        return static_cast<ValueTypeCode>(frame_columns[checked(column)]->dtype);
    }
    ValueTypeCode getColumnType(const std::string &label) const {
        return getColumnType(getColumnIdx(label));
    }
    std::vector<ValueTypeCode> getSchemaVector() const {
        std::vector<ValueTypeCode> found;
        for (std::size_t at = 0; at < columns; at++)
            found.push_back(getColumnType(at));
        return found;
    }
    std::string getLabel(std::size_t column) const { return labels[checked(column)]; }
    std::size_t getColumnIdx(const std::string &label) const {
        for (std::size_t at = 0; at < columns; at++)
            if (label == labels[at])
                return at;
        throw std::runtime_error("the frame has no column '" + label + "'");
    }

    void setLabels(const std::string *names) {
        for (std::size_t at = 0; at < columns; at++) {
            char *text = strdup(names[at].c_str());
            if (!text)
                throw std::bad_alloc();
            std::free(const_cast<char *>(labels[at]));
            labels[at] = text;
        }
    }

    // A column, which stays the frame's own. Those of arguments can only be read.
    template <typename VT> const DenseMatrix<VT> *getColumn(std::size_t column) const {
        return columnOf<VT>(column);
    }
    template <typename VT> const DenseMatrix<VT> *getColumn(const std::string &label) const {
        return columnOf<VT>(getColumnIdx(label));
    }
    template <typename VT> DenseMatrix<VT> *getColumn(std::size_t column) {
        return columnOf<VT>(column);
    }
    template <typename VT> DenseMatrix<VT> *getColumn(const std::string &label) {
        return columnOf<VT>(getColumnIdx(label));
    }
    const void *getColumnRaw(std::size_t column) const {
        return frame_columns[checked(column)]->values;
    }
    void *getColumnRaw(std::size_t column) { return frame_columns[checked(column)]->values; }

    // Views of some rows, and of some rows and columns: they live no longer than this frame.
    Frame *sliceRow(std::size_t first, std::size_t last) const {
        return slice(first, last, 0, columns);
    }
    Frame *sliceCol(std::size_t first, std::size_t last) const {
        return slice(0, rows, first, last);
    }
    Frame *slice(
        std::size_t firstRow, std::size_t lastRow, std::size_t firstColumn, std::size_t lastColumn
    ) const {
        return DataObjectFactory::create<Frame>(this, firstRow, lastRow, firstColumn, lastColumn);
    }

    // A frame of columns, which it owns from then on.
    static freestone_object *make(
        const std::vector<Structure *> &given, const std::string *names
    ) {
        std::vector<freestone_object *> objects;
        for (Structure *column : given)
            objects.push_back(column->object());
        return named(objects, names);
    }
    // A frame of new columns of these types; their elements are 0 if `zero` is set.
    static freestone_object *make(
        std::size_t rows, std::size_t columns, const ValueTypeCode *schema,
        const std::string *names, bool zero
    ) {
        std::vector<freestone_object *> objects;
        for (std::size_t at = 0; at < columns; at++) {
            // An element that is text points to it.
            const bool is_clear = zero || schema[at] == ValueTypeCode::STR;
            objects.push_back(
                freestone_dense(static_cast<std::uint32_t>(schema[at]), rows, 1, is_clear));
        }
        return named(objects, names);
    }
    // A view of some rows and of some columns, in the order that they are named in.
    static freestone_object *make(
        const Frame *source, std::size_t firstRow, std::size_t lastRow, std::size_t count,
        const std::size_t *chosen
    ) {
        if (firstRow > lastRow || lastRow > source->rows)
            throw std::out_of_range("a view of a frame goes beyond its rows");
        std::vector<std::string> names;
        for (std::size_t at = 0; at < count; at++)
            names.push_back(source->getLabel(chosen[at]));
        std::vector<freestone_object *> objects;
        for (std::size_t at = 0; at < count; at++)
            objects.push_back(view(source->frame_columns[chosen[at]], firstRow, lastRow));
        return named(objects, names.data());
    }
    static freestone_object *make(
        const Frame *source, std::size_t firstRow, std::size_t lastRow, std::size_t firstColumn,
        std::size_t lastColumn
    ) {
        if (firstColumn > lastColumn || lastColumn > source->columns)
            throw std::out_of_range("a view of a frame goes beyond its columns");
        std::vector<std::size_t> chosen;
        for (std::size_t at = firstColumn; at < lastColumn; at++)
            chosen.push_back(at);
        return make(source, firstRow, lastRow, chosen.size(), chosen.data());
    }

  private:
    template <typename VT> DenseMatrix<VT> *columnOf(std::size_t column) const {
        if (getColumnType(column) != ValueTypeUtils::codeFor<VT>())
            throw std::runtime_error("a column of the frame has elements of another type");
        return static_cast<DenseMatrix<VT> *>(static_cast<void *>(frame_columns[column]));
    }
    // A frame of these columns; null if one of them is, and then none of them is left.
    static freestone_object *named(
        const std::vector<freestone_object *> &objects, const std::string *names
    ) {
        std::vector<std::string> texts;
        std::vector<const char *> words;
        bool has_all = true;
        for (std::size_t at = 0; at < objects.size(); at++) {
            has_all = has_all && objects[at];
            texts.push_back(names ? names[at] : "col_" + std::to_string(at));
        }
        for (const std::string &text : texts)
            words.push_back(text.c_str());
        freestone_object *made =
            has_all ? freestone_frame(objects.data(), words.data(), objects.size()) : nullptr;
        for (freestone_object *column : objects)
            if (!made && column && column->release)
                column->release(column);
        return made;
    }
    static freestone_object *view(freestone_object *column, std::size_t first, std::size_t last) {
        freestone_object *made = freestone_make(FREESTONE_DENSE, column->dtype, last - first, 1);
        if (!made)
            return nullptr;
        made->row_stride = column->row_stride;
        made->owner = column;
        made->values = static_cast<char *>(column->values) +
                       first * column->row_stride * freestone_itemsize(column->dtype);
        return made;
    }
    std::size_t checked(std::size_t column) const {
        if (column >= columns)
            throw std::out_of_range("the frame has no column " + std::to_string(column));
        return column;
    }
};

#endif
