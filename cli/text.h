// Texts for a shell and for a page.
#pragma once
#include <string>
#include <string_view>

namespace trunnion::cli {

// One word for a shell: always in quotes, or only where it needs them.
std::string shell_quoted(std::string_view text);
std::string shell_word(std::string_view text);

// In place of <, >, & and " what HTML has for them.
std::string html_text(std::string_view text);

}  // namespace trunnion::cli
