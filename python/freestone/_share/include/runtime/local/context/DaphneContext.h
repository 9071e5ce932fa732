// What a kernel can ask about the run.
#ifndef FREESTONE_DAPHNE_CONTEXT_H
#define FREESTONE_DAPHNE_CONTEXT_H

#include <freestone_kernel.hpp>

struct DaphneUserConfig {
    std::uint32_t numberOfThreads;
    bool use_cuda;
};

class DaphneContext : protected freestone_context {
  public:
    DaphneContext() = delete;
    DaphneContext(const DaphneContext &) = delete;

    DaphneUserConfig getUserConfig() const { return {threads, place == FREESTONE_CUDA}; }
    freestone_context *context() { return this; }
};

using DCTX = DaphneContext *;

#endif
