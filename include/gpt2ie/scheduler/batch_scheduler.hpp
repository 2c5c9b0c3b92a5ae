// SPDX-License-Identifier: MIT
/// Who runs in the next step: iteration-level batching over a book, with chunked prefill and preemption.
///
/// Yu et al., "Orca: A Distributed Serving System for Transformer-Based Generative Models" (OSDI 2022), section 3.1;
/// Agrawal et al., "Taming Throughput-Latency Tradeoff in LLM Inference with Sarathi-Serve" (OSDI 2024), section 4.2
/// (chunks of prompts beside decoded tokens); Kwon et al. (SOSP 2023), section 4.5 (preemption by recomputation).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/scheduler/concepts.hpp>
#include <gpt2ie/scheduler/plan.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

struct SchedulerOptions {
  /// A sequence that gave way so often starts again only when nothing can make it give way once more.
  int max_preemptions = 3;
  /// Whether the cache keeps the past; else every run is a whole sequence.
  bool retains = true;
};

/// Plans ragged steps. Pure host logic: it knows a book and no model, so a simulator uses it too. One thread at a time.
///
/// The order of sequences is by priority, then by arrival. Running sequences decode first, one row each; what is left
/// of the step goes to prompts, in order, in chunks. When the book is short of units the last in order gives way: its
/// units are freed, and it starts again from its tokens when there is room for all of them. The first in order always
/// goes on, so every sequence ends. A step of known sequences costs O(sequences) and allocates nothing.
template <SlotPolicy Slots, CacheBook Book>
class BatchScheduler {
 public:
  /// limits: complete, with max_rows and max_logit_rows of at least Slots::count. The book outlives the scheduler, and
  /// nobody else opens sequences in it.
  BatchScheduler(Book& book, const Limits& limits, const SchedulerOptions& options = {})
      : book_(&book), limits_(limits), options_(options), slots_(static_cast<std::size_t>(Slots::count)) {
    running_.reserve(slots_.size());
    attached_.reserve(slots_.size());
    draws_.reserve(slots_.size());
    plan_.sequences.reserve(slots_.size());
  }

  /// Tokens at most of a sequence with a prompt of so many. Reads only what never changes, so it is safe from any
  /// thread. Errors: bad_request for an empty prompt, no_fit for one that is longer than the context, or for prompt and
  /// answer that the whole cache can't hold.
  [[nodiscard]] int checked_length(std::size_t prompt, int max_new_tokens) const {
    const auto context = static_cast<std::size_t>(context_limit());
    if (prompt == 0) fail(errc::bad_request, "a prompt of at least one token", "an empty prompt");
    if (prompt > context) {
      fail(errc::no_fit, "a prompt of at most " + std::to_string(context) + " tokens", std::to_string(prompt));
    }
    const auto answer = static_cast<std::size_t>(std::max(max_new_tokens, 0));
    const int longest = static_cast<int>(std::min(context, prompt + answer));
    if (!book_->fits_alone(longest)) {
      int most = longest;
      while (most > 0 && !book_->fits_alone(most)) --most;
      fail(errc::no_fit, "at most " + std::to_string(most) + " tokens of prompt and answer, which fill the whole cache",
           std::to_string(longest) + ", " + std::to_string(prompt) + " of them the prompt");
    }
    return longest;
  }

  /// Puts a sequence in the queue. Errors: as for checked_length.
  SequenceId add(SequenceSpec spec) {
    const int longest = checked_length(spec.prompt.size(), spec.max_new_tokens);
    const auto id = static_cast<SequenceId>(++last_id_);
    auto sequence = std::make_unique<Sequence>();
    sequence->id = id;
    sequence->prompt_tokens = static_cast<int>(spec.prompt.size());
    sequence->max_length = longest;
    sequence->tokens = std::move(spec.prompt);
    sequence->tokens.reserve(static_cast<std::size_t>(longest));
    sequence->priority = spec.priority;
    sequence->salt = spec.salt;
    sequence->prompt_logits = spec.prompt_logits;
    sequence->leader = spec.leader;
    // Room for all of them at any time: whoever gives way later is put back without an allocation.
    if (waiting_.capacity() <= sequences_.size()) waiting_.reserve(2 * sequences_.size() + 16);
    Sequence& added = *sequences_.emplace(id, std::move(sequence)).first->second;
    enqueue(added);
    return id;
  }

  /// The next step, its room reserved in the book; empty if nobody can run. Then commit or rollback. While any sequence
  /// decodes, at most prefill_rows rows of prompts go beside.
  const Plan& plan(int prefill_rows = std::numeric_limits<int>::max()) {
    const bool all_fit = plan_running(prefill_rows);
    if (all_fit) admit(prefill_rows);
    while (!plan_.empty() && !book_->reserve(plan_.step.runs)) {
      preempt_youngest();
      plan_running(prefill_rows);
    }
    return plan_;
  }

  /// A step of one running sequence alone: to find out which one of a failed step is at fault. Empty if it does not run
  /// or has no room.
  const Plan& plan_alone(SequenceId id) {
    plan_.clear();
    Sequence* sequence = find(id);
    if (sequence && sequence->seq != SeqId::none) place(*sequence, limits_.tokens_per_step);
    if (!plan_.empty() && !book_->reserve(plan_.step.runs)) plan_.clear();
    return plan_;
  }

  /// The planned step ran. Returns the draws that it made possible: each is answered by append or finish.
  std::span<const PendingDraw> commit() {
    book_->commit(plan_.step.runs, plan_.step.tokens);
    draws_.clear();
    ++counters_.steps;
    for (const Planned& planned : plan_.sequences) {
      Sequence& sequence = *find(planned.sequence);
      const auto rows = static_cast<std::uint64_t>(plan_.step.runs[static_cast<std::size_t>(planned.run)].count);
      (planned.prefill ? counters_.prefilled : counters_.decoded) += rows;
      if (sequence.prompt_logits && planned.logits > 0) sequence.scored = planned.logit_position + planned.logits;
      if (!planned.draws) continue;
      const int row = planned.first_logit + planned.logits - 1;
      draws_.push_back({sequence.id, row});
      if (sequence.length() == sequence.prompt_tokens) fork_attached(sequence, row);
    }
    return draws_;
  }

  /// The planned step did not run.
  void rollback() noexcept {
    book_->rollback();
    plan_.clear();
  }

  /// The sequence goes on with this token.
  void append(SequenceId id, Token token) { find(id)->tokens.push_back(token); }

  /// The sequence is over, at whatever point: its units and its slot are free. Not between plan and commit.
  void finish(SequenceId id) noexcept {
    const auto found = sequences_.find(id);
    if (found == sequences_.end()) return;
    Sequence& sequence = *found->second;
    if (sequence.slot < 0) {
      std::erase(waiting_, &sequence);
    } else {
      leave_slot(sequence);
    }
    sequences_.erase(found);
  }

  [[nodiscard]] bool contains(SequenceId id) const { return sequences_.count(id) != 0; }
  /// Prompt and answer so far. Precondition: contains(id); so for the next two.
  [[nodiscard]] std::span<const Token> tokens(SequenceId id) const { return find(id)->tokens; }
  /// How many tokens of it the cache held when it last started.
  [[nodiscard]] int matched(SequenceId id) const { return find(id)->matched; }
  [[nodiscard]] int preemptions(SequenceId id) const { return find(id)->preemptions; }

  [[nodiscard]] int waiting() const { return static_cast<int>(waiting_.size()); }
  /// Sequences that hold a slot.
  [[nodiscard]] int running() const { return static_cast<int>(running_.size() + attached_.size()); }
  [[nodiscard]] bool idle() const { return sequences_.empty(); }
  [[nodiscard]] const SchedulerCounters& counters() const { return counters_; }
  [[nodiscard]] const Book& book() const { return *book_; }

 private:
  struct Sequence {
    SequenceId id = SequenceId::none;
    std::vector<Token> tokens;  // prompt and answer
    int prompt_tokens = 0, max_length = 0, priority = 0;
    std::uint64_t salt = 0;
    bool prompt_logits = false;
    SequenceId leader = SequenceId::none;
    int scored = 0;           // positions of the prompt whose logits were given out
    SeqId seq = SeqId::none;  // in the book, while it runs
    int slot = -1;            // below 0: waiting
    int preemptions = 0, matched = 0;

    [[nodiscard]] int length() const { return static_cast<int>(tokens.size()); }
  };
  struct Before {
    bool operator()(const Sequence* a, const Sequence* b) const {
      return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
    }
  };

  [[nodiscard]] Sequence* find(SequenceId id) const {
    const auto found = sequences_.find(id);
    return found == sequences_.end() ? nullptr : found->second.get();
  }

  [[nodiscard]] int context_limit() const {
    return options_.retains ? limits_.max_length : std::min(limits_.max_length, limits_.max_rows);
  }

  // --- one step ---

  /// Runs for the running sequences, whoever is last giving way until they fit. False if one had to.
  bool plan_running(int prefill_rows) {
    bool all_fit = true;
    for (;;) {
      plan_.clear();
      for (Sequence* sequence : running_) {
        if (decodes(*sequence)) place(*sequence, 1);
      }
      for (Sequence* sequence : running_) {
        if (!decodes(*sequence)) place(*sequence, rows_for_prompts(prefill_rows));
      }
      if (book_->missing(plan_.step.runs) == 0) return all_fit;
      preempt_youngest();
      all_fit = false;
    }
  }

  [[nodiscard]] bool decodes(const Sequence& sequence) const {
    const int done = book_->length(sequence.seq);
    return done > 0 && done + 1 == sequence.length();
  }

  [[nodiscard]] int rows_for_prompts(int prefill_rows) const {
    int decoding = 0, prefilling = 0;
    for (const Planned& planned : plan_.sequences) {
      (planned.prefill ? prefilling : decoding) += plan_.step.runs[static_cast<std::size_t>(planned.run)].count;
    }
    // A row at least, so that prompts go on however small a step is.
    const int left = std::max(limits_.tokens_per_step - decoding, 1) - prefilling;
    return decoding == 0 ? left : std::min(left, prefill_rows - prefilling);
  }

  /// Adds the sequence's next rows, `most` at most, to the plan.
  void place(const Sequence& sequence, int most) {
    Step& step = plan_.step;
    const int done = book_->length(sequence.seq), left = sequence.length() - done;
    int count = options_.retains ? std::min({most, limits_.max_rows - step.rows(), left}) : left;
    const int free_logits = limits_.max_logit_rows - static_cast<int>(step.logit_rows.size());
    while (options_.retains && count > 0 && logits_of(sequence, done, count).count > free_logits) --count;
    if (count <= 0) return;
    const LogitRange logits = logits_of(sequence, done, count);
    plan_.sequences.push_back({.sequence = sequence.id,
                               .slot = sequence.slot,
                               .run = static_cast<int>(step.runs.size()),
                               .prefill = !(decodes(sequence) && sequence.length() > sequence.prompt_tokens),
                               .draws = logits.draws,
                               .first_logit = static_cast<int>(step.logit_rows.size()),
                               .logits = logits.count,
                               .logit_position = logits.first});
    const int row = step.rows();
    step.runs.push_back({.seq = sequence.seq, .first = done, .count = count, .row = row});
    for (int i = 0; i < count; ++i) {
      step.tokens.push_back(sequence.tokens[static_cast<std::size_t>(done + i)]);
      step.positions.push_back(done + i);
    }
    for (int i = 0; i < logits.count; ++i) step.logit_rows.push_back(row + logits.first - done + i);
  }

  /// Positions [first, first + count) of a run that need logits; `draws`: the last one is for the next token.
  struct LogitRange {
    int first, count;
    bool draws;
  };
  [[nodiscard]] static LogitRange logits_of(const Sequence& sequence, int done, int count) {
    const int end = done + count;
    const bool draws = end == sequence.length() && sequence.length() < sequence.max_length;
    int first = end - (draws ? 1 : 0), last = end;
    if (sequence.prompt_logits && sequence.scored < sequence.prompt_tokens - 1) {
      // The last row of the prompt scores no token of it.
      if (!draws) last = std::min(end, sequence.prompt_tokens - 1);
      first = std::min(last, std::max(done, sequence.scored));
    }
    return {first, last - first, draws};
  }

  // --- coming and going ---

  void admit(int prefill_rows) {
    if (!Slots::refills && running() > 0) return;
    while (!waiting_.empty()) {
      const auto free_slot = std::find(slots_.begin(), slots_.end(), nullptr);
      if (free_slot == slots_.end()) return;
      Sequence& sequence = *waiting_.front();
      if (!is_safe(sequence)) return;
      if (const Sequence* leader = find(sequence.leader);
          leader && leader->seq != SeqId::none && leader->length() == leader->prompt_tokens) {
        enter_slot(sequence, free_slot);
        attached_.push_back(&sequence);
        continue;
      }
      const int rows = rows_for_prompts(prefill_rows);
      // A static batch starts together, even if its prompts need more steps than one.
      if (rows <= 0 && Slots::refills) return;
      if (!open(sequence)) return;
      enter_slot(sequence, free_slot);
      insert_in_order(running_, sequence);
      place(sequence, rows);
    }
  }

  /// Whether a sequence that may not give way any more would never have to.
  [[nodiscard]] bool is_safe(const Sequence& sequence) const {
    if (!is_protected(sequence)) return true;
    std::int64_t units = units_at_most(sequence);
    for (const Sequence* other : slots_) {
      if (other && is_protected(*other)) units += units_at_most(*other);
    }
    return units <= book_->capacity().total_units || units == units_at_most(sequence);
  }
  [[nodiscard]] bool is_protected(const Sequence& sequence) const {
    return sequence.preemptions >= options_.max_preemptions;
  }
  /// One more for a page that is copied before it is written.
  [[nodiscard]] std::int64_t units_at_most(const Sequence& sequence) const {
    return std::int64_t{book_->units_for(sequence.max_length)} + 1;
  }

  /// Opens it in the book if there is room for all its tokens beside what the running ones are about to need.
  bool open(Sequence& sequence) {
    const bool shares = !sequence.prompt_logits || sequence.scored >= sequence.prompt_tokens - 1;
    const auto tokens = shares ? std::span<const Token>(sequence.tokens) : std::span<const Token>();
    const std::optional<Opened> opened = book_->open(tokens, sequence.salt);
    if (!opened) return false;
    if (!running_.empty()) {
      int needed = units_ahead(sequence.length(), opened->matched) + (opened->matched > 0 ? 1 : 0);
      for (const Sequence* other : running_) needed += units_ahead(other->length(), book_->length(other->seq));
      if (needed > book_->capacity().free_units) {
        book_->close(opened->seq);
        return false;
      }
    }
    sequence.seq = opened->seq;
    sequence.matched = opened->matched;
    counters_.prefix_queries += tokens.size();
    counters_.prefix_hits += static_cast<std::uint64_t>(opened->matched);
    return true;
  }
  /// Units from `done` tokens to all of them and one more.
  [[nodiscard]] int units_ahead(int length, int done) const {
    return book_->units_for(length + 1) - book_->units_for(done);
  }

  /// The last in order that holds units and may give way; one that may not, only if there is no other.
  void preempt_youngest() {
    const auto last = std::find_if(running_.rbegin(), running_.rend(),
                                   [this](const Sequence* sequence) { return !is_protected(*sequence); });
    Sequence& victim = last != running_.rend() ? **last : *running_.back();
    if (running_.size() == 1) {
      fail(errc::no_fit, "room in the cache for one sequence that fits alone",
           std::to_string(book_->capacity().free_units) + " free units");
    }
    leave_slot(victim);
    ++victim.preemptions;
    ++counters_.preemptions;
    enqueue(victim);
  }

  void enter_slot(Sequence& sequence, typename std::vector<Sequence*>::iterator slot) {
    std::erase(waiting_, &sequence);
    *slot = &sequence;
    sequence.slot = static_cast<int>(slot - slots_.begin());
  }

  /// Gives slot and units back; those that wait for its pages wait in the queue again.
  void leave_slot(Sequence& sequence) noexcept {
    slots_[static_cast<std::size_t>(sequence.slot)] = nullptr;
    sequence.slot = -1;
    if (sequence.seq == SeqId::none) {
      std::erase(attached_, &sequence);
      return;
    }
    std::erase(running_, &sequence);
    book_->close(std::exchange(sequence.seq, SeqId::none));
    std::erase_if(attached_, [&](Sequence* other) {
      if (other->leader != sequence.id) return false;
      send_back(*other);
      return true;
    });
  }
  void send_back(Sequence& sequence) noexcept {
    slots_[static_cast<std::size_t>(sequence.slot)] = nullptr;
    sequence.slot = -1;
    enqueue(sequence);
  }
  void enqueue(Sequence& sequence) noexcept { insert_in_order(waiting_, sequence); }
  static void insert_in_order(std::vector<Sequence*>& sequences, Sequence& sequence) noexcept {
    sequences.insert(std::upper_bound(sequences.begin(), sequences.end(), &sequence, Before{}), &sequence);
  }

  /// The leader's prompt is computed: those that wait for it take its pages over and draw from the same logits.
  void fork_attached(const Sequence& leader, int row) {
    std::erase_if(attached_, [&](Sequence* sequence) {
      if (sequence->leader != leader.id) return false;
      const std::optional<SeqId> forked = book_->fork(leader.seq);
      if (!forked) {
        send_back(*sequence);
        return true;
      }
      sequence->seq = *forked;
      sequence->matched = leader.prompt_tokens;
      insert_in_order(running_, *sequence);
      draws_.push_back({sequence->id, row});
      ++counters_.forks;
      return true;
    });
  }

  Book* book_;
  Limits limits_;
  SchedulerOptions options_;
  std::uint64_t last_id_ = 0;
  std::unordered_map<SequenceId, std::unique_ptr<Sequence>> sequences_;
  std::vector<Sequence*> waiting_;   // in order
  std::vector<Sequence*> running_;   // open in the book, in order
  std::vector<Sequence*> attached_;  // hold a slot and wait for their leader's prompt
  std::vector<Sequence*> slots_;
  Plan plan_;
  std::vector<PendingDraw> draws_;
  SchedulerCounters counters_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI
