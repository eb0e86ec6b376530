// The parts of stb that the command line uses; stb.cc holds their code.
#pragma once
#define STBI_NO_STDIO
#define STBI_NO_HDR
#define STBI_NO_LINEAR
#define STBI_NO_PSD
#define STBI_NO_PIC
#define STBI_NO_TGA
#include <stb/stb_image.h>
#include <stb/stb_image_resize.h>
