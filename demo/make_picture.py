"""Draws demo/picture.png, the picture that `./dev demo` reads. Run only to change it.

python3 demo/make_picture.py     (needs Pillow and Debian's fonts-dejavu-core; LINES is what a reader should find)
"""
import pathlib

from PIL import Image, ImageDraw, ImageFont

FONTS = pathlib.Path("/usr/share/fonts/truetype/dejavu")
SIZE = (960, 720)
DESK, PAPER, INK, RED = "#5b6f73", "#f6f1e3", "#22262b", "#a3262a"
# (text, font, size, colour, left, top)
LINES = [
    ("HARBOUR WORKSHOP", "DejaVuSans-Bold.ttf", 52, INK, 60, 48),
    ("Repairs of boats and engines", "DejaVuSerif.ttf", 32, INK, 62, 126),
    ("Order No. 2718-B", "DejaVuSansMono.ttf", 30, RED, 62, 196),
    ("2 x trunnion bearing, bronze", "DejaVuSans.ttf", 30, INK, 62, 258),
    ("1 x crankshaft seal 45 mm", "DejaVuSans.ttf", 30, INK, 62, 306),
    ("Ready on Thursday at 16:30", "DejaVuSans-Oblique.ttf", 30, INK, 62, 372),
    ("Total 184.90 EUR", "DejaVuSans-Bold.ttf", 38, RED, 62, 428),
]
# A sticker that somebody put on upside down: the orientation model has to turn it.
STICKER = ("THIS SIDE UP", "DejaVuSans-Bold.ttf", 36)


def font(name: str, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(FONTS / name), size)


def main() -> None:
    paper = Image.new("RGBA", (820, 600), PAPER)
    draw = ImageDraw.Draw(paper)
    draw.rectangle((24, 24, 795, 575), outline="#b9ae93", width=3)
    draw.line((62, 182, 640, 182), fill="#b9ae93", width=2)
    for text, name, size, colour, left, top in LINES:
        draw.text((left, top), text, fill=colour, font=font(name, size))
    sticker = Image.new("RGBA", (330, 66), "#f2c230")
    ImageDraw.Draw(sticker).text((165, 33), STICKER[0], fill=INK, font=font(*STICKER[1:]), anchor="mm")
    paper.paste(sticker.rotate(180), (430, 494))
    # Laid on a desk slightly askew, with a shadow.
    picture = Image.new("RGBA", SIZE, DESK)
    turned = paper.rotate(1.6, expand=True, resample=Image.Resampling.BICUBIC)
    left, top = (SIZE[0] - turned.width) // 2, (SIZE[1] - turned.height) // 2
    shadow = Image.new("RGBA", turned.size, "#3d4c4f")
    picture.paste(shadow, (left + 9, top + 9), turned.getchannel("A"))
    picture.paste(turned, (left, top), turned.getchannel("A"))
    target = pathlib.Path(__file__).with_name("picture.png")
    picture.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(target, optimize=True)
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
