// Whole files in memory, a folder for a while, and the memory of this process.
#pragma once
#include <string>
#include <string_view>

namespace trunnion::cli {

std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view bytes);
// Fails as write_file would, before there is anything to write; leaves no file, and an existing one as it is.
void check_writable(const std::string& path);

// What comes after the last dot of the last part of a path, in lower case: "npy"; nothing where there is none.
std::string extension(const std::string& path);

// A number of bytes for people: "17.0 MB".
std::string bytes_text(double bytes);

// A folder for files of this process that goes, with everything in it, when the object does.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The memory of this process, the most that it has had and now, in bytes; 0 where the system does not say.
double peak_memory();
double resident_memory();

}  // namespace trunnion::cli
