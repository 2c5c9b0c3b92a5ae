#!/bin/sh
# SPDX-License-Identifier: MIT
# Downloads OpenAI's GPT-2 as a Hugging Face folder that gpt2ie loads as it is:
#
#   sh examples/download_gpt2.sh [gpt2 | gpt2-medium | gpt2-large | gpt2-xl] [FOLDER]
#
# A broken download goes on where it stopped. Every file is checked against its size and hash: for gpt2 those that are
# written below, else those that the server states. GPT2IE_HUB names another server than https://huggingface.co.
set -eu

model=${1:-gpt2}
folder=${2:-$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)/models/$model}
hub=${GPT2IE_HUB:-https://huggingface.co}
files='config.json generation_config.json vocab.json merges.txt model.safetensors'

die() {
  printf 'download_gpt2.sh: %s\n' "$1" >&2
  exit 1
}

# A pinned revision has pinned hashes; the larger models are taken as they are now.
case $model in
  gpt2) revision=607a30d783dfa663caf39e06633721c8d4cfcd7e ;;
  gpt2-medium | gpt2-large | gpt2-xl) revision=main ;;
  *) die "there is no model '$model': gpt2, gpt2-medium, gpt2-large and gpt2-xl are" ;;
esac

# known FILE: prints "SIZE SHA256" of a file of gpt2 at the revision above.
known() {
  case $model/$1 in
    gpt2/config.json) echo 665 0daed7749b4f02b8f76240d5444551d7b08712dab4d0adb8239c56ba823bb7b4 ;;
    gpt2/vocab.json) echo 1042301 196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783 ;;
    gpt2/merges.txt) echo 456318 1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5 ;;
    gpt2/model.safetensors) echo 548105171 248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707 ;;
  esac
}

if command -v curl >/dev/null 2>&1; then
  headers() { curl -sS -f -I -L --retry 3 -- "$1" 2>&1; }
  fetch() { curl -f -L --retry 3 -C - -o "$2" -- "$1"; }
elif command -v wget >/dev/null 2>&1; then
  headers() { LC_ALL=C wget -S --spider --tries=3 -- "$1" 2>&1; }
  fetch() { wget -c --tries=3 -O "$2" -- "$1"; }
else
  die "please install curl or wget, then run this again"
fi

if command -v sha256sum >/dev/null 2>&1; then
  sha256() { sha256sum <"$1" | cut -d ' ' -f 1; }
  sha1() { sha1sum | cut -d ' ' -f 1; }
else
  sha256() { shasum -a 256 <"$1" | cut -d ' ' -f 1; }
  sha1() { shasum -a 1 | cut -d ' ' -f 1; }
fi

size_of() { wc -c <"$1" | tr -d ' '; }

# header NAME: the last value of that header on standard input, which holds the answers of every server on the way.
header() {
  tr -d '\r"' | sed 's/^ *//' | awk -v name="$1:" 'tolower($1) == name { value = $2 } END { print value }'
}

# hash_of FILE EXPECTED: the hash of the same kind as EXPECTED. Large files are named by their SHA-256, small ones by
# the SHA-1 of a git blob: "blob SIZE", a zero byte, the content.
hash_of() {
  case ${#2} in
    64) sha256 "$1" ;;
    40) { printf 'blob %s\0' "$(size_of "$1")"; cat "$1"; } | sha1 ;;
  esac
}

# is_right FILE SIZE HASH: whether the file has that size and hash; an empty expectation is not checked.
is_right() {
  [ -f "$1" ] || return 1
  [ -z "$2" ] || [ "$(size_of "$1")" = "$2" ] || return 1
  [ -z "$3" ] || [ "$(hash_of "$1" "$3")" = "$3" ]
}

mkdir -p "$folder"
for file in $files; do
  url=$hub/openai-community/$model/resolve/$revision/$file
  # Word splitting separates size and hash.
  # shellcheck disable=SC2046
  set -- $(known "$file")
  size=${1:-} hash=${2:-}
  if [ -n "$hash" ] && is_right "$folder/$file" "$size" "$hash"; then
    printf '%s: already here, size and hash right\n' "$file"
    continue
  fi

  answer=$(headers "$url") || die "can't reach $url: is there a network?"
  if [ -z "$hash" ]; then
    size=$(printf '%s\n' "$answer" | header x-linked-size)
    hash=$(printf '%s\n' "$answer" | header x-linked-etag)
    [ -n "$size" ] || size=$(printf '%s\n' "$answer" | header content-length)
    [ -n "$hash" ] || hash=$(printf '%s\n' "$answer" | header etag | sed 's,^W/,,')
    case $hash in
      *[!0-9a-f]*) hash= ;;
    esac
    case ${#hash} in
      40 | 64) ;;
      *) hash= ;;
    esac
    [ -n "$size$hash" ] || die "$url: the server states neither a size nor a hash, so the file can't be checked"
    if is_right "$folder/$file" "$size" "$hash"; then
      printf '%s: already here\n' "$file"
      continue
    fi
  fi

  part=$folder/$file.part
  if ! is_right "$part" "$size" "$hash"; then
    # A part that is as long as the whole and still wrong, or longer, can't be gone on with.
    [ ! -f "$part" ] || [ -z "$size" ] || [ "$(size_of "$part")" -lt "$size" ] || rm -f "$part"
    fetch "$url" "$part" || die "$file: the download broke off; run this again to go on with it"
  fi
  if ! is_right "$part" "$size" "$hash"; then
    found="$(size_of "$part") bytes"
    [ -z "$hash" ] || found="$found and the hash $(hash_of "$part" "$hash")"
    rm -f "$part"
    die "$file: expected $size bytes and the hash ${hash:-(none stated)}, found $found; the file was removed"
  fi
  mv "$part" "$folder/$file"
  if [ -n "$hash" ]; then
    printf '%s: size and hash right\n' "$file"
  else
    printf '%s: size right, the server states no hash\n' "$file"
  fi
done

printf 'GPT-2 is in %s\n' "$folder"
