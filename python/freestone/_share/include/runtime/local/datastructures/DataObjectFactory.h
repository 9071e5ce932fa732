// Makes matrices and frames, and frees them.
#ifndef FREESTONE_DATA_OBJECT_FACTORY_H
#define FREESTONE_DATA_OBJECT_FACTORY_H

#include <runtime/local/datastructures/Structure.h>

#include <utility>

struct DataObjectFactory {
    // Make an object; its class says from what.
    template <class DataType, typename... Arguments> static DataType *create(Arguments &&...given) {
        freestone_object *made = DataType::make(std::forward<Arguments>(given)...);
        if (!made)
            throw std::bad_alloc();
        return static_cast<DataType *>(static_cast<void *>(made));
    }

    // Free objects that a kernel has made. Arguments are not its own, and stay.
    template <class... DataTypes> static void destroy(const DataTypes *...objects) {
        (free(const_cast<freestone_object *>(objects->object())), ...);
    }

  private:
    static void free(freestone_object *object) {
        if (object && object->release)
            object->release(object);
    }
};

#endif
