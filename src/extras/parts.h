// Which parts the build found: cmake/extras.cmake defines each TRUNNION_WITH_* as 0 or 1.
#pragma once
#include "extras/extras.h"

namespace trunnion::extras {

constexpr uint32_t kParts = TRUNNION_WITH_RE2 << TRUNNION_EXTRAS_RE2 | TRUNNION_WITH_JPEG << TRUNNION_EXTRAS_JPEG |
                            TRUNNION_WITH_PNG << TRUNNION_EXTRAS_PNG | TRUNNION_WITH_WEBP << TRUNNION_EXTRAS_WEBP |
                            TRUNNION_WITH_TIFF << TRUNNION_EXTRAS_TIFF |
                            TRUNNION_WITH_JPEG2000 << TRUNNION_EXTRAS_JPEG2000 | 1u << TRUNNION_EXTRAS_BMP |
                            1u << TRUNNION_EXTRAS_PNM;

}  // namespace trunnion::extras
