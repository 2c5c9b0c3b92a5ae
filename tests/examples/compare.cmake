# SPDX-License-Identifier: MIT
include(${CMAKE_CURRENT_LIST_DIR}/check.cmake)

set(model --model ${MODELS}/fairytale-1m)
succeeds(${model} --context 1 --max-new-tokens 100 --runs 1 --threads 2 --json)
expect_equal("${err}" "")
expect_json(ON same_tokens)
expect_json(2 threads)
expect_json(1 prompt_tokens)

# Without a cache token n costs n rows: 100 * 101 / 2 in all.
set(names "no cache" "concatenating" "contiguous" "paged" "flash, paged")
foreach(i RANGE 4)
  list(GET names ${i} name)
  expect_json("${name}" variants ${i} name)
  if(i EQUAL 0)
    expect_json(5050 variants ${i} query_rows)
  else()
    expect_json(100 variants ${i} query_rows)
  endif()
  # Concatenating copies K and V of n tokens when it adds one to them: 2 * 4 bytes * 128 wide * 2 layers * (1 + ... + 99).
  if(i EQUAL 1)
    math(EXPR copied "2 * 4 * 128 * 2 * 4950")
    expect_json(${copied} variants ${i} copied_bytes)
  else()
    expect_json(0 variants ${i} copied_bytes)
  endif()
endforeach()

# Standard attention: T * T floats a head, of 2; flash: a block a thread.
expect_json(256 attention_score_bytes 0 tokens)
expect_json(524288 attention_score_bytes 0 standard)
expect_json(8388608 attention_score_bytes 2 standard)
expect_json(33792 attention_score_bytes 0 flash)
expect_json(33792 attention_score_bytes 2 flash)

succeeds(${model} --prompt "Once upon a time" --max-new-tokens 5 --runs 2)
foreach(name IN LISTS names)
  expect_match("${out}" "\n${name} +[0-9.]+ +[0-9.]+ +[0-9.]+ ms +[0-9.]+x +[0-9]+ +[0-9.]+ MB +[0-9.]+ ms\n")
endforeach()
expect_match("${out}" "All variants gave the same 5 tokens: \"[^\n]+\"\n$")

succeeds(${model} --prompt= --max-new-tokens 1 --runs 1 --json)
expect_json(ON same_tokens)

refuses(2 "--synthetic" --synthetic 125m)
refuses(2 "excludes" --synthetic 124m --model ${MODELS}/fairytale-1m)
refuses(2 "excludes" --synthetic 124m --prompt x)
refuses(2 "excludes" --context 3 --prompt x)
refuses(2 "--context" --context 0)
refuses(2 "--runs" --runs 0)
refuses(2 "--max-new-tokens" --max-new-tokens 0)
refuses(2 "1024 together at most, found 1000 and 100" ${model} --context 1000)
refuses(1 "no such model: /nowhere" --model /nowhere)
