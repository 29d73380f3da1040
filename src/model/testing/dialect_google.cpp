// SPDX-License-Identifier: Apache-2.0
// Google: POST /v1beta/models/MODEL:generateContent and :streamGenerateContent?alt=sse
// (ai.google.dev/api/generate-content).
#include <fmt/format.h>

#include "model/testing/dialect.h"

namespace szarena::model::standin {
namespace {

using data::Json;

std::string Text(const Json& item, std::string_view key) {
  const Json* value = item.Find(key);
  return value && value->string() ? *value->string() : "";
}

class Google : public Dialect {
 public:
  bool Serves(std::string_view path) const override {
    return path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent");
  }

  Question Read(std::string_view path, const Json& body) const override {
    Question question;
    const size_t colon = path.rfind(':');
    const size_t slash = path.rfind('/', colon);
    question.model = path.substr(slash + 1, colon - slash - 1);
    question.stream = path.ends_with(":streamGenerateContent");
    for (const std::string_view key : {"systemInstruction", "system_instruction"}) {
      if (const Json* system = body.Find(key)) {
        question.opening += ContentText(system->Find("parts"));
      }
    }
    if (const Json* tools = body.Find("tools")) {
      for (const Json& group : tools->items()) {
        const Json* declared = group.Find("functionDeclarations");
        for (const Json& tool : declared ? declared->items() : Json::Array{}) {
          question.tools.push_back({Text(tool, "name"), ""});
        }
      }
    }
    TurnCounter counter(question);
    const Json* contents = body.Find("contents");
    for (const Json& content : contents ? contents->items() : Json::Array{}) {
      if (Text(content, "role") == "model") {
        bool has_call = false;
        const Json* parts = content.Find("parts");
        for (const Json& part : parts ? parts->items() : Json::Array{}) {
          has_call |= part.Find("functionCall") != nullptr;
        }
        counter.Model(has_call);
      } else {
        counter.Other();
        if (question.turns == 0) question.opening += ContentText(content.Find("parts"));
      }
    }
    return question;
  }

  Json Whole(const Answer& answer) const override {
    Json parts = Json::MakeArray();
    for (const Json& part : Parts(answer)) parts.Append(part);
    return Chunk(answer, std::move(parts), true);
  }

  std::vector<std::string> Stream(const Answer& answer) const override {
    std::vector<std::string> events;
    for (const Json& part : Parts(answer)) {
      events.push_back(ServerSentEvent("", Chunk(answer, Json::MakeArray().Append(part), false)));
    }
    events.push_back(ServerSentEvent("", Chunk(answer, Json::MakeArray(), true)));
    return events;
  }

  Json ErrorBody(int status, const std::string& code, const std::string& message) const override {
    const std::string name = !code.empty()   ? code
                             : status == 429 ? "RESOURCE_EXHAUSTED"
                             : status == 400 ? "INVALID_ARGUMENT"
                             : status >= 500 ? "UNAVAILABLE"
                                             : "PERMISSION_DENIED";
    return Json::Of(
        {{"error", Json::Of({{"code", status}, {"message", message}, {"status", name}})}});
  }

 private:
  static std::vector<Json> Parts(const Answer& answer) {
    std::vector<Json> parts;
    if (answer.finish == "refusal") return parts;
    for (const std::string& piece : Pieces(answer.reasoning)) {
      parts.push_back(Json::Of({{"text", piece}, {"thought", true}}));
    }
    for (const std::string& piece : Pieces(answer.text)) {
      parts.push_back(Json::Of({{"text", piece}}));
    }
    bool signed_already = false;
    for (const AnswerCall& call : answer.calls) {
      if (call.malformed) continue;  // told by the finish reason
      Json part = Json::Of(
          {{"functionCall",
            Json::Of({{"id", call.id}, {"name", call.tool.name}, {"args", call.arguments}})}});
      // Only the first call of an answer carries one, and it must come back.
      if (!signed_already) part.Set("thoughtSignature", "c2VhbGVk" + answer.id);
      signed_already = true;
      parts.push_back(std::move(part));
    }
    return parts;
  }

  static Json Chunk(const Answer& answer, Json parts, bool last) {
    Json candidate = Json::Of(
        {{"content", Json::Of({{"role", "model"}, {"parts", std::move(parts)}})}, {"index", 0}});
    if (last) candidate.Set("finishReason", FinishReason(answer));
    const int64_t visible = answer.tokens_out - answer.tokens_reasoning;
    return Json::Of(
        {{"candidates", Json::MakeArray().Append(std::move(candidate))},
         {"usageMetadata", Json::Of({{"promptTokenCount", answer.tokens_in},
                                     {"cachedContentTokenCount", answer.tokens_cached},
                                     {"candidatesTokenCount", last ? visible : 1},
                                     {"thoughtsTokenCount", answer.tokens_reasoning},
                                     {"totalTokenCount", answer.tokens_in + answer.tokens_out}})},
         {"modelVersion", answer.model},
         {"responseId", answer.id}});
  }

  static std::string FinishReason(const Answer& answer) {
    if (answer.finish == "length") return "MAX_TOKENS";
    if (answer.finish == "refusal") return "SAFETY";
    for (const AnswerCall& call : answer.calls) {
      if (call.malformed) return "MALFORMED_FUNCTION_CALL";
    }
    return "STOP";
  }
};

}  // namespace

const Dialect& GoogleGenerate() {
  static const Google kDialect;
  return kDialect;
}

}  // namespace szarena::model::standin
