// Frames: columns of one type each, with labels.
#ifndef FREESTONE_FRAME_H
#define FREESTONE_FRAME_H

#include <runtime/local/datastructures/DenseMatrix.h>

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

    // A column, which stays the frame's own.
    template <typename VT> const DenseMatrix<VT> *getColumn(std::size_t column) const {
        if (getColumnType(column) != ValueTypeUtils::codeFor<VT>())
            throw std::runtime_error("a column of the frame has elements of another type");
        return static_cast<const DenseMatrix<VT> *>(static_cast<void *>(frame_columns[column]));
    }
    template <typename VT> const DenseMatrix<VT> *getColumn(const std::string &label) const {
        return getColumn<VT>(getColumnIdx(label));
    }
    const void *getColumnRaw(std::size_t column) const {
        return frame_columns[checked(column)]->values;
    }

    // A frame of columns, which it owns from then on.
    static freestone_object *make(
        const std::vector<Structure *> &given, const std::string *names
    ) {
        std::vector<freestone_object *> objects;
        std::vector<std::string> texts;
        std::vector<const char *> words;
        for (std::size_t at = 0; at < given.size(); at++) {
            objects.push_back(given[at]->object());
            texts.push_back(names ? names[at] : "col_" + std::to_string(at));
        }
        for (const std::string &text : texts)
            words.push_back(text.c_str());
        return freestone_frame(objects.data(), words.data(), objects.size());
    }

  private:
    std::size_t checked(std::size_t column) const {
        if (column >= columns)
            throw std::out_of_range("the frame has no column " + std::to_string(column));
        return column;
    }
};

#endif
