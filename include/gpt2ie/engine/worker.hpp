// SPDX-License-Identifier: MIT
/// The engine's thread: takes requests in, runs steps, hands tokens out.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/engine/executor.hpp>
#include <gpt2ie/engine/mailbox.hpp>
#include <gpt2ie/engine/step_report.hpp>
#include <gpt2ie/sampling/log_probs.hpp>
#include <gpt2ie/scheduler/batch_scheduler.hpp>
#include <gpt2ie/scheduler/prefill_pacer.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

template <class Executor, SlotPolicy Slots, class Order>
class EngineWorker {
 public:
  using scheduler_type = BatchScheduler<Slots, typename Executor::book_type>;
  using Active = ActiveRequest<Order>;

  EngineWorker(std::unique_ptr<Executor> executor, std::shared_ptr<Mailbox<Order>> mailbox,
               const SchedulerOptions& options, double stall_factor, std::function<void(const StepReport&)> on_step)
      : executor_(std::move(executor)),
        mailbox_(std::move(mailbox)),
        scheduler_(executor_->book(), executor_->limits(), options),
        pacer_(stall_factor),
        on_step_(std::move(on_step)) {
    publish();
  }

  /// Until stopped, or until something fails that is no single request's fault.
  void run() {
    try {
      while (take_mail()) {
        expire();
        step();
        publish();
      }
    } catch (...) {
      die(std::current_exception());
    }
  }

  [[nodiscard]] const Executor& executor() const { return *executor_; }
  [[nodiscard]] const scheduler_type& scheduler() const { return scheduler_; }

 private:
  using Clock = EngineClock;
  struct Place {
    std::shared_ptr<Active> request;
    std::size_t choice;
  };

  // --- requests come ---

  /// False: stop.
  bool take_mail() {
    bool stop = false, cancel_all = false;
    {
      std::unique_lock lock(mailbox_->mutex);
      mailbox_->arrived.wait(lock, [this] {
        return mailbox_->stop || mailbox_->cancel_all || !mailbox_->submitted.empty() || !mailbox_->cancelled.empty() ||
               !active_.empty();
      });
      submitted_.swap(mailbox_->submitted);
      cancelled_.swap(mailbox_->cancelled);
      stop = mailbox_->stop;
      cancel_all = std::exchange(mailbox_->cancel_all, false);
    }
    for (const std::shared_ptr<Active>& request : submitted_) accept(request);
    submitted_.clear();
    for (const std::shared_ptr<RequestState>& state : cancelled_) {
      if (const auto found = active_.find(state.get()); found != active_.end()) {
        end(std::shared_ptr<Active>(found->second), FinishReason::cancelled);
      }
    }
    cancelled_.clear();
    if (stop || cancel_all) end_all(FinishReason::cancelled);
    return !stop;
  }

  void accept(const std::shared_ptr<Active>& request) {
    active_.emplace(request->state.get(), request);
    if (request->deadline) ++with_deadline_;
    const bool scores = request->request.prompt_logprobs && request->prompt.size() > 1;
    if (request->request.prompt_logprobs) request->prompt_scores.push_back({.token = request->prompt.front()});
    SequenceId leader = SequenceId::none;
    for (std::size_t i = 0; i < request->choices.size(); ++i) {
      typename Active::Choice& choice = request->choices[i];
      const bool scores_here = scores && i == 0;
      if (choice.answer.ended() && !scores_here) continue;
      choice.sequence = scheduler_.add({.prompt = request->prompt,
                                        .max_new_tokens = request->request.options.max_new_tokens,
                                        .priority = request->request.priority,
                                        .salt = request->salt,
                                        .prompt_logits = scores_here,
                                        .leader = leader});
      if (i == 0) leader = choice.sequence;
      places_.emplace(choice.sequence, Place{request, i});
    }
    for (std::size_t i = 0; i < request->choices.size(); ++i) {
      const typename Active::Choice& choice = request->choices[i];
      if (choice.sequence == SequenceId::none && !choice.over) finish_unrun(request, i);
    }
  }

  void expire() {
    if (with_deadline_ == 0) return;
    const Clock::time_point now = Clock::now();
    std::vector<std::shared_ptr<Active>> late;
    for (const auto& [state, request] : active_) {
      if (request->deadline && *request->deadline <= now) late.push_back(request);
    }
    for (const std::shared_ptr<Active>& request : late) end(request, FinishReason::timeout);
  }

  // --- one step ---

  void step() {
    if (scheduler_.idle()) return;
    const Plan& plan = scheduler_.plan(pacer_.rows());
    if (plan.empty()) {
      fail(errc::no_fit, "room for one of " + std::to_string(scheduler_.waiting()) + " waiting sequences",
           std::to_string(executor_->book().capacity().free_units) + " free units and nothing running");
    }
    if (const std::exception_ptr failure = attempt(plan)) find_culprits(failure);
  }

  /// Runs the plan and hands out what it made. Returns what went wrong, if one of its sequences may be to blame.
  std::exception_ptr attempt(const Plan& plan) {
    const Clock::time_point begin = Clock::now();
    std::span<const float> logits;
    try {
      logits = executor_->run(plan.step);
    } catch (const Error&) {
      return give_up(plan, std::current_exception());
    } catch (const std::bad_alloc&) {
      return give_up(plan, std::current_exception());
    }
    observe(plan, std::chrono::duration<double>(Clock::now() - begin).count());
    const std::span<const PendingDraw> draws = scheduler_.commit();
    const auto vocab = static_cast<std::size_t>(executor_->config().vocab);
    const auto row = [&](int index) { return logits.subspan(static_cast<std::size_t>(index) * vocab, vocab); };
    for (const Planned& planned : plan.sequences) score_prompt(planned, row);
    for (const PendingDraw& draw : draws) advance(draw.sequence, row(draw.logit_row));
    return nullptr;
  }

  std::exception_ptr give_up(const Plan& plan, std::exception_ptr failure) {
    failed_.clear();
    for (const Planned& planned : plan.sequences) failed_.push_back(planned.sequence);
    scheduler_.rollback();
    return failure;
  }

  /// Repeats a failed step one sequence at a time: one that fails alone fails its own request. If all of several do,
  /// the fault is not theirs.
  void find_culprits(const std::exception_ptr& failure) {
    const std::vector<SequenceId> suspects = std::exchange(failed_, {});
    std::size_t failures = 0;
    for (const SequenceId id : suspects) {
      std::exception_ptr alone = suspects.size() == 1 ? failure : nullptr;
      if (!alone) {
        const Plan& plan = scheduler_.plan_alone(id);
        if (!plan.empty()) alone = attempt(plan);
      }
      if (!alone) continue;
      if (++failures == suspects.size() && failures > 1) std::rethrow_exception(alone);
      if (const auto found = places_.find(id); found != places_.end()) {
        end(std::shared_ptr<Active>(found->second.request), FinishReason::error, alone);
      }
    }
  }

  void observe(const Plan& plan, double seconds) {
    stats_.step.add(seconds);
    int decoded = 0, prefilled = 0;
    for (const Planned& planned : plan.sequences) {
      (planned.prefill ? prefilled : decoded) += plan.step.runs[static_cast<std::size_t>(planned.run)].count;
      const auto found = places_.find(planned.sequence);
      if (found != places_.end() && !found->second.request->started) start(*found->second.request, planned.sequence);
    }
    pacer_.observe(decoded, prefilled, seconds);
    if (on_step_) report(plan, seconds);
  }

  void report(const Plan& plan, double seconds) {
    parts_.clear();
    for (const Planned& planned : plan.sequences) {
      const Place& place = places_.at(planned.sequence);
      parts_.push_back({.request = place.request->state->id(),
                        .choice = static_cast<int>(place.choice),
                        .slot = planned.slot,
                        .prefill = planned.prefill,
                        .rows = plan.step.runs[static_cast<std::size_t>(planned.run)].count});
    }
    on_step_({.parts = parts_, .seconds = seconds, .waiting = scheduler_.waiting()});
  }

  void start(Active& request, SequenceId sequence) {
    request.started = true;
    request.cached_tokens = static_cast<std::size_t>(scheduler_.matched(sequence));
    leave_queue();
  }
  void leave_queue() {
    const std::scoped_lock lock(mailbox_->mutex);
    --mailbox_->queued;
  }

  template <class Row>
  void score_prompt(const Planned& planned, const Row& row) {
    const auto found = places_.find(planned.sequence);
    if (found == places_.end() || !found->second.request->request.prompt_logprobs || found->second.choice != 0) return;
    const std::shared_ptr<Active> request = found->second.request;
    try {
      for (int i = 0; i < planned.logits; ++i) {
        const auto next = static_cast<std::size_t>(planned.logit_position + i) + 1;
        if (next != request->prompt_scores.size() || next >= request->prompt.size()) continue;
        const std::span<const float> logits = row(planned.first_logit + i);
        ScoredToken scored{.token = request->prompt[next], .logprob = token_logprob(logits, request->prompt[next])};
        if (const int n = request->request.options.top_logprobs; n > 0) scored.top = top_logprobs(logits, n);
        request->prompt_scores.push_back(std::move(scored));
      }
    } catch (...) {
      end(request, FinishReason::error, std::current_exception());
      return;
    }
    const bool all = request->prompt_scores.size() == request->prompt.size();
    if (all && request->choices[0].answer.ended() && !request->choices[0].over) finish_unrun(request, 0);
  }

  /// Draws a sequence's next token and sends what it made certain.
  void advance(SequenceId sequence, std::span<const float> logits) {
    const auto found = places_.find(sequence);
    if (found == places_.end()) return;  // its request ended in this step
    const std::shared_ptr<Active> request = found->second.request;
    const std::size_t index = found->second.choice;
    typename Active::Choice& choice = request->choices[index];
    try {
      const Token token = choice.answer.draw(logits, scheduler_.tokens(sequence));
      count_token(choice);
      const GenerateResult& result = choice.answer.result();
      Piece piece{.choice = static_cast<int>(index)};
      piece.tokens.push_back({.token = token, .logprob = result.token_logprobs.back()});
      if (!result.top_logprobs.empty()) piece.tokens.back().top = result.top_logprobs.back();
      choice.answer.read_text(piece.text);
      piece.finish_reason = result.finish_reason;
      if (choice.answer.ended()) {
        close(*request, choice);
      } else {
        scheduler_.append(sequence, token);
      }
      send(*request, std::move(piece));
    } catch (...) {
      end(request, FinishReason::error, std::current_exception());
    }
    if (request->open == 0) complete(request, nullptr);
  }

  void count_token(typename Active::Choice& choice) {
    const Clock::time_point now = Clock::now();
    const GenerateResult& result = choice.answer.result();
    ++stats_.generated;
    if (result.tokens.size() == 1) {
      stats_.first_token.add(result.timings.first_token);
    } else {
      stats_.between_tokens.add(std::chrono::duration<double>(now - choice.last_token).count());
    }
    choice.last_token = now;
  }

  static void send(Active& request, Piece piece) {
    if (request.request.on_piece) {
      request.request.on_piece(piece);
    } else {
      request.state->push(std::move(piece));
    }
  }

  // --- requests go ---

  /// A choice that needs no token is over.
  void finish_unrun(const std::shared_ptr<Active>& request, std::size_t index) {
    typename Active::Choice& choice = request->choices[index];
    close(*request, choice);
    try {
      send(*request, {.choice = static_cast<int>(index), .finish_reason = choice.answer.result().finish_reason});
    } catch (...) {
      end(request, FinishReason::error, std::current_exception());
    }
    if (request->open == 0) complete(request, nullptr);
  }

  /// The choice holds nothing any more.
  void close(Active& request, typename Active::Choice& choice) {
    choice.over = true;
    --request.open;
    scheduler_.finish(choice.sequence);
    places_.erase(choice.sequence);
  }

  /// Ends what is left of a request, wherever it stands.
  void end(const std::shared_ptr<Active>& request, FinishReason reason, std::exception_ptr error = nullptr) {
    for (std::size_t i = 0; i < request->choices.size(); ++i) {
      typename Active::Choice& choice = request->choices[i];
      if (choice.over) continue;
      choice.answer.end(reason);
      close(*request, choice);
      if (error) continue;
      try {
        Piece piece{.choice = static_cast<int>(i)};
        choice.answer.read_text(piece.text);
        piece.finish_reason = choice.answer.result().finish_reason;
        send(*request, std::move(piece));
      } catch (...) {
        error = std::current_exception();
      }
    }
    complete(request, std::move(error));
  }

  void end_all(FinishReason reason, const std::exception_ptr& error = nullptr) {
    while (!active_.empty()) end(std::shared_ptr<Active>(active_.begin()->second), reason, error);
  }

  void complete(const std::shared_ptr<Active>& request, std::exception_ptr error) {
    if (active_.erase(request->state.get()) == 0) return;
    if (request->deadline) --with_deadline_;
    Completion completion;
    completion.usage = {.prompt_tokens = request->prompt.size(), .cached_tokens = request->cached_tokens};
    FinishReason reason = error ? FinishReason::error : FinishReason::stop;
    for (typename Active::Choice& choice : request->choices) {
      completion.choices.push_back(choice.answer.take_result());
      completion.usage.completion_tokens += completion.choices.back().tokens.size();
      const FinishReason each = completion.choices.back().finish_reason;
      if (each == FinishReason::cancelled || each == FinishReason::timeout) reason = each;
    }
    completion.prompt = std::move(request->prompt_scores);
    ++(reason == FinishReason::error       ? stats_.failed
       : reason == FinishReason::cancelled ? stats_.cancelled
       : reason == FinishReason::timeout   ? stats_.timed_out
                                           : stats_.finished);
    publish();  // so that who sees the request over sees it counted
    if (!request->started) leave_queue();
    request->state->finish(std::move(completion), std::move(error));
    {
      const std::scoped_lock lock(mailbox_->mutex);
      --mailbox_->unfinished;
    }
    mailbox_->changed.notify_all();
  }

  void die(const std::exception_ptr& cause) {
    {
      const std::scoped_lock lock(mailbox_->mutex);
      mailbox_->cause = cause;
      // Those that were being accepted are among the submitted ones still.
      submitted_.insert(submitted_.end(), mailbox_->submitted.begin(), mailbox_->submitted.end());
      mailbox_->submitted.clear();
    }
    scheduler_.rollback();
    for (const std::shared_ptr<Active>& request : submitted_) {
      if (request->open > 0) active_.emplace(request->state.get(), request);
    }
    submitted_.clear();
    end_all(FinishReason::error, cause);
    publish();
    mailbox_->changed.notify_all();
  }

  void publish() {
    const Capacity capacity = executor_->book().capacity();
    stats_.waiting = scheduler_.waiting();
    stats_.running = scheduler_.running();
    stats_.slots = Slots::count;
    stats_.cached_units = capacity.cached_units;
    stats_.free_units = capacity.free_units - capacity.cached_units;
    stats_.used_units = capacity.total_units - capacity.free_units;
    stats_.scheduler = scheduler_.counters();
    const std::scoped_lock lock(mailbox_->mutex);
    mailbox_->stats = stats_;
  }

  std::unique_ptr<Executor> executor_;
  std::shared_ptr<Mailbox<Order>> mailbox_;
  scheduler_type scheduler_;
  PrefillPacer pacer_;
  std::function<void(const StepReport&)> on_step_;
  std::vector<StepPart> parts_;
  EngineStats stats_;
  std::unordered_map<RequestState*, std::shared_ptr<Active>> active_;
  std::unordered_map<SequenceId, Place> places_;
  std::vector<std::shared_ptr<Active>> submitted_;
  std::vector<std::shared_ptr<RequestState>> cancelled_;
  std::vector<SequenceId> failed_;
  int with_deadline_ = 0;
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail
