# SPDX-License-Identifier: MIT
include(${CMAKE_CURRENT_LIST_DIR}/check.cmake)

# From the reference values of fairytale-6m: the greedy continuation of the first prompt.
set(prompt "Once upon a time")
set(story [==[ there was a great many people called Little John, who was a great lord, and he was a great lord, and he was a great lord, and he was a great lord, and he was a great lord, and he was a great lord.
Now, when the King saw him, he was very angry]==])
foreach(backend IN ITEMS simd eigen)
  foreach(variant IN ITEMS naive cached paged flash)
    succeeds(--prompt ${prompt} --greedy --max-new-tokens 64 --variant ${variant} --backend ${backend} --threads 1)
    expect_equal("${out}" "${prompt}${story}\n")
    expect_match("${err}" "^first token after [0-9.]+ ms, decode [0-9.]+ tokens/s [^\n]*\n$")
  endforeach()
endforeach()

# JSON: one object, nothing else, and the seed repeats it.
succeeds(--prompt ${prompt} --max-new-tokens 7 --temperature 0.9 --top-k 40 --top-p 0.95 --min-p 0.01
         --repetition-penalty 1.1 --seed 18446744073709551615 --json)
expect_equal("${err}" "")
expect_match("${out}" "^[^\n]+\n$")
expect_json("${prompt}" prompt)
expect_json("length" finish_reason)
expect_json("" stop)
expect_json(18446744073709551615 seed)
expect_json(4 usage prompt_tokens)
expect_json(7 usage completion_tokens)
expect_json_match("^-[0-9.e-]+$" token_logprobs 6)
expect_json_match("^[0-9.e-]+$" timings first_token_seconds)
expect_json_match("^[0-9.e-]+$" timings decode_tokens_per_second)
string(JSON text GET "${out}" text)
string(JSON tokens GET "${out}" tokens)
succeeds(--prompt ${prompt} --max-new-tokens 7 --temperature 0.9 --top-k 40 --top-p 0.95 --min-p 0.01
         --repetition-penalty 1.1 --seed 18446744073709551615 --json --variant cached)
expect_json("${text}" text)
expect_json("${tokens}" tokens)

# Stop strings are not part of the text; the first that comes ends it.
succeeds(--prompt ${prompt} --greedy --json --stop "[never]" --stop ", who" --max-new-tokens 64)
expect_json(" there was a great many people called Little John" text)
expect_json(", who" stop)
expect_json("stop" finish_reason)

# Text is bytes: what is not UTF-8 still makes valid JSON, and comes back as it is in plain output.
string(ASCII 255 invalid)
succeeds(--prompt "a${invalid}" --greedy --json --max-new-tokens 2)
expect_json("a�" prompt)
succeeds(--prompt "a${invalid}" --greedy --quiet --max-new-tokens 0)
expect_equal("${out}" "a${invalid}\n")
expect_equal("${err}" "")
succeeds(--prompt <empty> --greedy -q --max-new-tokens 3)
succeeds(--prompt --json --greedy -q --max-new-tokens 1)
expect_match("${out}" "^--json")
succeeds(--prompt ${prompt} --model ${MODELS}/fairytale-1m -q --max-new-tokens 3)

refuses(2 "--prompt is required")
refuses(2 "--prompt" --prompt)
refuses(2 "extra" --prompt x extra)
refuses(2 "--max-new-tokens" --prompt x --max-new-tokens -1)
refuses(2 "--max-new-tokens" --prompt x --max-new-tokens 1.5)
refuses(2 "--temperature" --prompt x --temperature -0.5)
refuses(2 "--temperature" --prompt x --temperature warm)
refuses(2 "temperature finite and 0 or more, found nan" --prompt x --temperature nan)
refuses(2 "--temperature excludes --greedy" --prompt x --temperature 1 --greedy)
refuses(2 "--top-k" --prompt x --top-k -3)
refuses(2 "--top-p: Value 2" --prompt x --top-p 2)
refuses(2 "top_p in \\[0, 1\\], found nan" --prompt x --top-p nan)
refuses(2 "--min-p" --prompt x --min-p -0.1)
refuses(2 "--repetition-penalty" --prompt x --repetition-penalty 0)
refuses(2 "--seed" --prompt x --seed -1)
refuses(2 "--variant: fast" --prompt x --variant fast)
refuses(2 "--backend: gpu" --prompt x --backend gpu)
refuses(2 "--threads: Value 5000" --prompt x --threads 5000)
refuses(2 "stop to hold strings of one byte or more" --prompt x --stop <empty>)
refuses(1 "no such model: /nowhere" --prompt x --model /nowhere)
refuses(1 "config.json" --prompt x --model ${CMAKE_CURRENT_LIST_DIR})
string(REPEAT "word " 1100 long)
refuses(1 "a prompt of at most 1024 tokens, found [0-9]+" --prompt ${long})
refuses(1 "a prompt of at most 1024 tokens, found [0-9]+" --prompt ${long} --json)

# A reader that has gone ends it without a word.
execute_process(COMMAND "${PROGRAM}" --prompt ${prompt} -q --max-new-tokens 300 COMMAND "${CMAKE_COMMAND}" -E true
                ERROR_VARIABLE err)
expect_equal("${err}" "")
if(EXISTS /dev/full)
  execute_process(COMMAND "${PROGRAM}" --prompt ${prompt} OUTPUT_FILE /dev/full RESULT_VARIABLE status
                  ERROR_VARIABLE err)
  expect_equal("${status}" 1)
  expect_match("${err}" "^gpt2ie-generate: can't write to standard output[^\n]*\n$")
endif()
