// From types of C++ to those of elements.
#ifndef FREESTONE_VALUE_TYPE_UTILS_H
#define FREESTONE_VALUE_TYPE_UTILS_H

#include <runtime/local/datastructures/ValueTypeCode.h>

struct ValueTypeUtils {
    template <typename VT> static constexpr ValueTypeCode codeFor() {
        if constexpr (std::is_same_v<VT, bool>)
            return ValueTypeCode::BOOL;
        else if constexpr (std::is_same_v<VT, freestone_string>)
            return ValueTypeCode::STR;
        else if constexpr (std::is_floating_point_v<VT> && sizeof(VT) == 4)
            return ValueTypeCode::F32;
        else if constexpr (std::is_floating_point_v<VT> && sizeof(VT) == 8)
            return ValueTypeCode::F64;
        else {
            static_assert(
                std::is_integral_v<VT> && sizeof(VT) != 2,
                "elements are integers of 8, 32 or 64 bits, float, double, bool or "
                "freestone_string");
            constexpr bool isSigned = std::is_signed_v<VT>;
            if constexpr (sizeof(VT) == 1)
                return isSigned ? ValueTypeCode::SI8 : ValueTypeCode::UI8;
            else if constexpr (sizeof(VT) == 4)
                return isSigned ? ValueTypeCode::SI32 : ValueTypeCode::UI32;
            else
                return isSigned ? ValueTypeCode::SI64 : ValueTypeCode::UI64;
        }
    }

    static std::size_t sizeOf(ValueTypeCode code) {
        return freestone_itemsize(static_cast<std::uint32_t>(code));
    }
};

#endif
