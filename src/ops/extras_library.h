// libtrunnion_extras.so (src/extras): RE2 and the image codecs, loaded when the first kernel asks for them.
#pragma once
#include <string_view>

#include "base/status.h"
#include "extras/extras.h"

namespace trunnion::ops {

// Where the library is looked for: the file that the environment variable TRUNNION_EXTRAS_LIBRARY names, and then no
// other; else beside the library or program that holds this code, and where the system's loader looks.
// The table stays valid for the life of the process. An error lists what was tried. `what` says what is wanted of it
// and which Debian packages have that: "RE2 (Debian package libre2-dev)".
Result<const TrunnionExtras*> load_extras(std::string_view what);

// The same, and that the part is in it.
Result<const TrunnionExtras*> load_extras(TrunnionExtrasPart part);

// The error for a part that the library was built without.
Status extras_left_out(int part);

}  // namespace trunnion::ops
