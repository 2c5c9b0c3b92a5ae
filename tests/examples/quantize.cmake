# SPDX-License-Identifier: MIT
include(${CMAKE_CURRENT_LIST_DIR}/check.cmake)

# One folder a precision, packed once; the programs map it and find its precision themselves.
set(model ${MODELS}/fairytale-1m)
cmake_path(GET PROGRAM PARENT_PATH programs)
function(score_of folder variable)
  execute_process(
    COMMAND ${programs}/gpt2ie-score --model ${folder} --text "Once upon a time there was a king" --json ${ARGN}
    OUTPUT_VARIABLE scored COMMAND_ERROR_IS_FATAL ANY)
  string(JSON perplexity GET "${scored}" perplexity)
  set(${variable} ${perplexity} PARENT_SCOPE)
endfunction()

foreach(precision IN ITEMS float bf16 f16 int8 int4)
  set(folder ${WORK}/${precision})
  succeeds(--model ${model} --precision ${precision} --output ${folder})
  expect_equal("${err}" "")
  expect_match("${out}" "model[.]safetensors: [0-9.]+ MB in ${precision}, from [0-9.]+ MB\n$")
  # Packed ahead of time or when it is loaded: the same numbers to the last digit.
  score_of(${folder} packed)
  score_of(${model} loaded --precision ${precision})
  expect_equal("${packed}" "${loaded}")
endforeach()

# What is packed for one precision is not read as another.
refuses(1 "packed in int4, found weights packed in int8" --model ${WORK}/int8 --precision int4 --output ${WORK}/again)
refuses(1 "another folder" --model ${model} --output ${model})
refuses(2 "--precision" --model ${model} --precision int5 --output ${WORK}/int5)
refuses(2 "--output" --model ${model})
