// Kernels in C++: exceptions that leave a kernel become errors of the script.
//
// Every library that includes this has the function `freestone_call`, by which its kernels are
// called: so an exception is caught by the C++ library that it was thrown with, and never passes
// through frames of another language.
#ifndef FREESTONE_KERNEL_HPP
#define FREESTONE_KERNEL_HPP

#include <freestone_kernel.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <type_traits>

#if defined(__x86_64__)
#define FREESTONE_REGISTERS 6
#elif defined(__aarch64__)
#define FREESTONE_REGISTERS 8
#endif

#ifdef FREESTONE_REGISTERS
// Parameters are passed in registers for integers and pointers, in others for floating-point numbers
// (8 in both ABIs), and what does not fit lies on the stack, 8 bytes each. A call that fills all of
// them is thus right for every kernel, whatever its parameters; those that it does not have it does
// not look at, and the caller removes them.
extern "C" FREESTONE_SHARED int freestone_call(
    void (*kernel)(), const std::uint64_t *i, const double *f, const std::uint64_t *s,
    char *message, std::size_t size
) {
    using word = std::uint64_t;
    try {
#if FREESTONE_REGISTERS == 6
        using Kernel = void (*)(
            word, word, word, word, word, word,
            double, double, double, double, double, double, double, double,
            word, word, word, word, word, word, word, word,
            word, word, word, word, word, word, word, word);
        reinterpret_cast<Kernel>(kernel)(
            i[0], i[1], i[2], i[3], i[4], i[5],
            f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7],
            s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7],
            s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15]);
#else
        using Kernel = void (*)(
            word, word, word, word, word, word, word, word,
            double, double, double, double, double, double, double, double,
            word, word, word, word, word, word, word, word,
            word, word, word, word, word, word, word, word);
        reinterpret_cast<Kernel>(kernel)(
            i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7],
            f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7],
            s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7],
            s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15]);
#endif
        return 0;
    } catch (const std::exception &error) {
        std::strncpy(message, error.what(), size - 1);
        return 1;
    } catch (...) {
        std::strncpy(message, "an exception that is no std::exception", size - 1);
        return 1;
    }
}
#endif

#endif
