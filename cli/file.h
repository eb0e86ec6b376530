// Whole files in memory.
#pragma once
#include <string>
#include <string_view>

namespace trunnion::cli {

std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view bytes);

// What comes after the last dot of the last part of a path, in lower case: "npy"; nothing where there is none.
std::string extension(const std::string& path);

// A number of bytes for people: "17.0 MB".
std::string bytes_text(double bytes);

// The most memory that this process has had, in bytes; 0 where the system does not say.
double peak_memory();

}  // namespace trunnion::cli
