// Promises of limits.h, measured: what a rendering does is charged as steps, what it holds is
// charged as bytes, and each builtin is linear in its input, or nearly so. Every registered builtin
// has a case here: a new one without a case fails, and one that works without charging does, too.

#include "support/cost.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "chat/builtins.h"
#include "chat/parser.h"
#include "chat/rendering.h"

namespace skald::chat {
namespace {

constexpr std::chrono::local_seconds kNow{std::chrono::seconds{1783177567}};

// A step is some 75 ns of work (limits.h); these bounds leave room for a busy machine, and still
// see one pass over 64 KB of text that nobody charged.
#if defined(SKALD_SANITIZED) || !defined(NDEBUG)
constexpr double kSecondsPerStep = 80e-6;
// The same expressions on the same input, evaluated a tenth as often: time and bound shrink alike.
constexpr int64_t kSteps = 5'000;
#else
constexpr double kSecondsPerStep = 2e-6;
constexpr int64_t kSteps = 50'000;
#endif
constexpr double kSecondsBase = 0.01;

constexpr int64_t kBytes = 32 << 20;
constexpr size_t kSmall = 16 << 10;
constexpr size_t kLarge = 4 * kSmall;

// Variables of `bytes` bytes each, of every kind of value.
boost::json::object Variables(size_t bytes) {
  const auto repeat = [bytes](std::string_view unit) {
    std::string text;
    while (text.size() + unit.size() <= bytes) text += unit;
    return text;
  };
  boost::json::array texts;
  boost::json::array numbers;
  boost::json::array dicts;
  boost::json::object dict;
  for (size_t i = 0; i < bytes / 64; ++i) {
    const std::string name = "name" + std::to_string(i * 7919 % 100'003);
    texts.emplace_back(name);
    numbers.emplace_back(i);
    dict[name] = i;
    dicts.emplace_back(boost::json::object{{"a", i}, {"b", name}});
  }
  return {{"s", repeat("some words\n")},
          {"u", repeat("d\xC3\xA9j\xC3\xA0 \xE2\x82\xAC\n")},
          {"blank", repeat(" \n")},
          {"one", repeat("a")},
          {"digits", repeat("7")},
          {"json", boost::json::serialize(dicts)},
          {"texts", texts},
          {"numbers", numbers},
          {"dicts", dicts},
          {"dict", dict}};
}

struct Used {
  test::Cost cost;
  int64_t steps = 0;
};

// Renders `source` with at most `steps` steps and kBytes of memory.
Used Render(const std::string& source, const boost::json::object& variables, int64_t steps) {
  const Result<SyntaxTree> tree = Parse(source);
  EXPECT_TRUE(tree.ok()) << source << ": " << tree.status().message();
  if (!tree.ok()) return {};
  Used used;
  Budget budget(steps, kBytes);
  used.cost = test::CostOf([&] {
    static_cast<void>(RenderTree(*tree, ChatTokens{}, {variables, kNow}, budget));
  });
  used.steps = budget.steps_used();
  return used;
}

std::string Repeated(std::string_view expression) {
  // Two loops, because a range costs a step for each number.
  return "{% for i in range(250) %}{% for j in range(250) %}{% set x = " + std::string(expression) +
         " %}{% endfor %}{% endfor %}";
}

// Time and memory are within what was charged, however often the expression is evaluated.
void CheckCharged(const std::string& expression, const boost::json::object& variables) {
  const Used used = Render(Repeated(expression), variables, kSteps);
  EXPECT_LT(used.cost.cpu_seconds, kSecondsBase + kSecondsPerStep * static_cast<double>(used.steps))
      << expression << ": " << used.steps << " steps";
  EXPECT_LT(used.cost.peak_bytes, 2 * kBytes) << expression;
}

// Four times the input takes four times the steps, or a little more where something is sorted.
void CheckScaling(const std::string& expression) {
  const std::string source = "{% set x = " + expression + " %}";
  const int64_t small = Render(source, Variables(kSmall), kMaxSteps).steps;
  const int64_t large = Render(source, Variables(kLarge), kMaxSteps).steps;
  EXPECT_LT(large, 6 * small + 100) << expression;
  EXPECT_LT(large, kMaxSteps) << expression;
}

// --- every builtin ---------------------------------------------------------------------------

// The name of a builtin, as the tables have it, and expressions that give it much to do.
struct Case {
  std::string name;
  std::vector<std::string> expressions;
};

std::vector<Case> Filters() {
  return {
      {"abs", {"-1|abs"}},
      {"attr", {"dict|attr('name0')", "namespace(dict)|attr(s)"}},
      {"capitalize", {"s|capitalize", "u|capitalize"}},
      {"count", {"s|count", "u|count", "texts|count"}},
      {"d", {"nothing|d(s)"}},
      {"default", {"nothing|default(s)"}},
      {"dictsort", {"dict|dictsort", "dict|dictsort(by='value')"}},
      {"e", {"s|e", "('<&' ~ u)|e"}},
      {"escape", {"('<' * 9999)|escape"}},
      {"first", {"texts|first", "numbers|first"}},
      {"float", {"digits|float", "blank|float"}},
      {"format", {"'%s'|format(s)", "'%.3s'|format(u)", "'%.900f'|format(1.5)"}},
      {"from_json", {"json|from_json", "'[1,2]'|from_json"}},
      {"indent", {"s|indent", "blank|indent(900, true, true)"}},
      {"int", {"digits|int", "blank|int"}},
      {"items", {"dict|items"}},
      {"join", {"texts|join", "numbers|join(', ')", "dicts|join(attribute='b')", "s|join"}},
      {"last", {"texts|last", "dict|last"}},
      {"length", {"s|length", "u|length", "dict|length"}},
      {"list", {"texts|list", "s|list", "dict|list"}},
      {"lower", {"s|lower", "u|lower", "(s|upper)|lower"}},
      {"map", {"dicts|map(attribute='a')", "texts|map('upper')", "numbers|map('abs')"}},
      {"max", {"numbers|max", "texts|max"}},
      {"min", {"numbers|min", "dicts|min(attribute='b')"}},
      {"reject", {"numbers|reject('odd')", "numbers|reject"}},
      {"rejectattr", {"dicts|rejectattr('a')", "dicts|rejectattr('a', 'eq', 1)"}},
      {"replace", {"s|replace('o', '00')", "s|replace('', '-')", "one|replace(one, '')"}},
      {"reverse", {"s|reverse", "u|reverse", "numbers|reverse"}},
      {"round", {"1.5|round(900)"}},
      {"safe", {"s|safe"}},
      {"select", {"numbers|select('odd')", "numbers|select", "[s, u]|select('in', s)"}},
      {"selectattr", {"dicts|selectattr('nothing')", "dicts|selectattr('a', 'gt', 5)"}},
      {"sort", {"texts|sort", "numbers|sort(reverse=true)", "dicts|sort(attribute='b')"}},
      {"string", {"s|string", "dict|string", "(s ~ u)|list|string", "17|string"}},
      {"sum", {"numbers|sum", "dicts|sum('a')"}},
      {"title", {"s|title", "u|title"}},
      {"tojson",
       {"dicts|tojson", "dict|tojson(indent=2, sort_keys=true)", "blank|tojson",
        "u|tojson(ensure_ascii=true)"}},
      {"trim", {"s|trim", "blank|trim", "u|trim(u)", "one|trim('a')"}},
      {"unique", {"texts|unique|list", "numbers|unique|list", "(numbers + numbers)|unique|list"}},
      {"upper", {"s|upper", "u|upper"}},
  };
}

std::vector<Case> Tests() {
  std::vector<Case> cases;
  for (const char* name :
       {"defined", "undefined", "none", "string", "mapping", "iterable", "sequence", "boolean",
        "true", "false", "number", "integer", "float", "callable", "escaped"}) {
    cases.push_back({name, {"s is " + std::string(name), "dict is " + std::string(name)}});
  }
  for (const char* name : {"upper", "lower"})
    cases.push_back({name, {"one is " + std::string(name), "u is " + std::string(name)}});
  for (const char* name : {"odd", "even"}) cases.push_back({name, {"7 is " + std::string(name)}});
  for (const char* name : {"filter", "test"})
    cases.push_back({name, {"'nothing' is " + std::string(name), "s is " + std::string(name)}});
  cases.push_back({"divisibleby", {"7 is divisibleby(3)"}});
  cases.push_back({"sameas", {"s is sameas(s)", "s is sameas(s ~ '')"}});
  cases.push_back({"in", {"'x' is in(s)", "'x' is in(texts)", "'x' is in(dict)", "s is in(s)"}});
  for (const char* name : {"eq", "==", "equalto", "ne", "!="}) {
    cases.push_back({name,
                     {"[s]|select('" + std::string(name) + "', s ~ '')|list",
                      "[texts]|select('" + std::string(name) + "', texts + [])|list"}});
  }
  for (const char* name : {"lt", "<", "lessthan", "le", "<=", "gt", ">", "greaterthan", "ge", ">="})
    cases.push_back({name, {"[s]|select('" + std::string(name) + "', s ~ 'x')|list"}});
  return cases;
}

std::vector<Case> Functions() {
  return {{"namespace", {"namespace(dict)"}},
          {"dict", {"dict(a=1)", "namespace(dict)"}},
          {"range", {"range(900)", "range(5)"}},
          {"strftime_now", {"strftime_now('%c' * 500)"}},
          {"raise_exception", {"1"}}};  // ends the rendering
}

std::vector<Case> MethodsOfTexts() {
  return {
      {"strip", {"s.strip()", "blank.strip()", "one.strip('a')", "'a'.strip(s)"}},
      {"lstrip", {"blank.lstrip()"}},
      {"rstrip", {"blank.rstrip()", "u.rstrip(u)"}},
      {"split", {"s.split()", "s.split('o')", "s.split('x')", "u.split(None, 1)"}},
      {"rsplit", {"s.rsplit()", "s.rsplit('o', 1)", "s.rsplit('x')"}},
      {"splitlines", {"s.splitlines()", "one.splitlines()"}},
      {"partition", {"s.partition('\n')", "one.partition('b')"}},
      {"rpartition", {"s.rpartition('o')", "one.rpartition('b' ~ one[1:])"}},
      {"startswith", {"s.startswith(s ~ '')", "s.startswith(('a', 'b'))"}},
      {"endswith", {"s.endswith(s[1:])"}},
      {"removeprefix", {"s.removeprefix('some')", "s.removeprefix('x')"}},
      {"removesuffix", {"s.removesuffix(s[9:])"}},
      {"replace", {"s.replace('o', 'oo')", "s.replace('x', 'y')", "one.replace('a', '')"}},
      {"join", {"', '.join(texts)", "s.join(['a', 'b'])"}},
      {"find", {"s.find('x')", "one.find(one[9:] ~ 'b')", "u.find('x')", "u.find(u[-9:])"}},
      {"rfind", {"s.rfind('x')", "one.rfind('b' ~ one[9:])", "u.rfind('x')"}},
      {"index", {"s.index('some')", "u.index('\n')"}},
      {"count", {"s.count('o')", "s.count('x')", "one.count('aa')", "u.count('')"}},
      {"upper", {"s.upper()"}},
      {"lower", {"(s ~ 'A').lower()"}},
      {"capitalize", {"s.capitalize()"}},
      {"title", {"u.title()"}},
      {"isdigit", {"digits.isdigit()"}},
      {"isdecimal", {"digits.isdecimal()"}},
      {"isnumeric", {"digits.isnumeric()"}},
      {"isalpha", {"one.isalpha()", "u.isalpha()"}},
      {"isalnum", {"one.isalnum()"}},
      {"isspace", {"blank.isspace()"}},
      {"isupper", {"digits.isupper()"}},
      {"islower", {"one.islower()"}},
      {"format", {"'{}'.format(s)", "('{0}' * 999).format(1)", "s.format()"}},
  };
}

std::vector<Case> MethodsOfDicts() {
  return {{"get", {"dict.get('name7919')", "dict.get(s)", "dict.get(5)"}},
          {"keys", {"dict.keys()"}},
          {"values", {"dict.values()"}},
          {"items", {"dict.items()"}},
          {"pop", {"dict.pop('name0', 1)", "dict.pop(s, 1)"}},
          {"update", {"dict.update(dict)", "dict.update(a=1)"}},
          {"setdefault", {"dict.setdefault('a', s)"}},
          {"copy", {"dict.copy()"}}};
}

std::vector<Case> MethodsOfLists() {
  return {{"append", {"numbers.append(1)"}}, {"extend", {"numbers.extend(texts)"}},
          {"pop", {"numbers.pop(0)"}},       {"insert", {"numbers.insert(0, 1)"}},
          {"index", {"numbers.index(200)"}}, {"count", {"numbers.count(5)"}},
          {"reverse", {"numbers.reverse()"}}};
}

std::vector<Case> MethodsOfTuples() {
  return {{"index", {"(1, 2, 3).index(3)"}}, {"count", {"((1, 2) * 900).count(2)"}}};
}

std::vector<Case> MethodsOfLoops() { return {{"cycle", {"loop.cycle(1, s)"}}}; }

// The table has a case for each registered name, and no other; all cases are cheap enough.
template <typename Entries>
void CheckAll(const char* kind, const Entries& registered, const std::vector<Case>& cases) {
  std::set<std::string> wanted;
  for (const auto& entry : registered) wanted.emplace(entry.name);
  std::set<std::string> found;
  for (const Case& builtin : cases) found.insert(builtin.name);
  EXPECT_EQ(found, wanted) << kind << ": each needs a case of what it costs";
  const boost::json::object small = Variables(kSmall);
  const boost::json::object large = Variables(kLarge);
  for (const Case& builtin : cases) {
    for (const std::string& expression : builtin.expressions) {
      CheckCharged(expression, small);
      CheckCharged(expression, large);
      if (expression.find("loop.") == std::string::npos) CheckScaling(expression);
    }
  }
}

TEST(CostOfBuiltins, Filters) {
  std::vector<Filter> all(TextFilters().begin(), TextFilters().end());
  all.insert(all.end(), SequenceFilters().begin(), SequenceFilters().end());
  CheckAll("filters", all, Filters());
}

TEST(CostOfBuiltins, Tests) { CheckAll("tests", ValueTests(), Tests()); }

TEST(CostOfBuiltins, Functions) { CheckAll("functions", Globals(), Functions()); }

TEST(CostOfBuiltins, MethodsOfTexts) {
  CheckAll("methods of texts", TextMethods(), MethodsOfTexts());
}

TEST(CostOfBuiltins, MethodsOfCollections) {
  Dict dict;
  Sequence list;
  Sequence tuple;
  tuple.kind = SequenceKind::kTuple;
  LoopState loop;
  CheckAll("methods of dicts", CollectionMethods(&dict), MethodsOfDicts());
  CheckAll("methods of lists", CollectionMethods(&list), MethodsOfLists());
  CheckAll("methods of tuples", CollectionMethods(&tuple), MethodsOfTuples());
  CheckAll("methods of loops", CollectionMethods(&loop), MethodsOfLoops());
}

TEST(CostOfBuiltins, OperatorsAndAccess) {
  const boost::json::object small = Variables(kSmall);
  const boost::json::object large = Variables(kLarge);
  for (const char* expression : {"s[5000]",
                                 "u[5000]",
                                 "u[-1]",
                                 "u[-5000]",
                                 "u[100:5000]",
                                 "s[::2]",
                                 "u[::-1]",
                                 "s + u",
                                 "s ~ u",
                                 "s * 3",
                                 "texts + texts",
                                 "numbers * 2",
                                 "s == s ~ ''",
                                 "s < s ~ 'x'",
                                 "texts == texts + []",
                                 "[texts] < [texts + [1]]",
                                 "'x' in s",
                                 "'x' in texts",
                                 "one[9:] ~ 'b' in one",
                                 "dict[s]",
                                 "dict['name0']",
                                 "dict.name0",
                                 "'%s' % s",
                                 "'%900d' % 1",
                                 "[s, u, texts]",
                                 "{'a': s}",
                                 "s is odd",
                                 "numbers[::2]",
                                 "-numbers|length"}) {
    CheckCharged(expression, small);
    CheckCharged(expression, large);
    CheckScaling(expression);
  }
}

// --- what was found --------------------------------------------------------------------------

// Whole templates that once took seconds, or memory beyond the limit.
void CheckWithinLimits(const std::string& source, const boost::json::object& variables) {
  const Result<SyntaxTree> tree = Parse(source);
  ASSERT_TRUE(tree.ok()) << tree.status().message();
  Budget budget;
  const test::Cost cost = test::CostOf([&] {
    static_cast<void>(RenderTree(*tree, ChatTokens{}, {variables, kNow}, budget));
  });
  EXPECT_LT(cost.cpu_seconds,
            kSecondsBase + kSecondsPerStep * static_cast<double>(budget.steps_used()))
      << source.substr(0, 80) << ": " << budget.steps_used() << " steps";
  EXPECT_LT(cost.peak_bytes, 3 * kMaxValueBytes / 2) << source.substr(0, 80);
}

TEST(CostOfTemplates, OfAHundredThousandElements) {
  boost::json::array texts;
  for (int i = 0; i < 100'000; ++i) texts.emplace_back(std::to_string(i));
  const boost::json::object variables{{"l", texts}};
  CheckWithinLimits("{{ l|unique|list|length }}", variables);
  CheckWithinLimits(
      "{% set d = dict() %}{% for x in l %}{% set _ = d.update({x|int: 1}) %}{% endfor %}",
      variables);
  CheckWithinLimits("{{ l|map('list')|map('unique')|map('list')|list|length }}", variables);
}

// What a caller sees who asks it to stop at its `at`th question; 0: never.
struct Asked {
  Status status;
  int64_t questions = 0;
  int64_t steps = 0;
};

Asked AskToStop(const std::string& source, const boost::json::object& variables, int64_t at) {
  const Result<SyntaxTree> tree = Parse(source);
  EXPECT_TRUE(tree.ok()) << tree.status().message();
  Asked asked;
  const auto should_stop = [&] { return ++asked.questions == at; };
  Budget budget(kMaxSteps, kMaxValueBytes, StopCheck(should_stop));
  asked.status = RenderTree(*tree, ChatTokens{}, {variables, kNow}, budget).status();
  asked.steps = budget.steps_used();
  return asked;
}

TEST(CostOfTemplates, AreStoppedSoonAfterTheCallerSaysSo) {
  boost::json::array texts;
  for (int i = 0; i < 50'000; ++i) texts.emplace_back(std::to_string(i));
  const boost::json::object variables{{"l", texts}, {"s", std::string(1 << 18, 'a')}};
  for (const char* source : {
           "{% for i in range(999) %}{% for j in range(99) %}{% endfor %}{% endfor %}",
           "{% for x in l %}{{ x }}{% endfor %}",
           "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}"
           "{% for i in range(500) %}{{ m(40) }}{% endfor %}",
           "{{ l|unique|list|length }}",
           "{{ l|sort|join(',') }}",
           "{{ l|tojson }}",
           "{{ s|list|length }}",
           "{{ s.split('a')|length }}",
       }) {
    const Asked never = AskToStop(source, variables, 0);
    EXPECT_TRUE(never.status.ok()) << source << never.status.message();
    // It may ask less often than it should where a builtin charges for much at once.
    EXPECT_GT(never.questions, never.steps / 2048 / 8) << source << ": " << never.steps << " steps";
    EXPECT_GT(never.questions, 4) << source;
    for (const int64_t at : {int64_t{1}, never.questions / 2, never.questions}) {
      const Asked stopped = AskToStop(source, variables, at);
      EXPECT_EQ(stopped.status.code(), ErrorCode::kCancelled) << source;
      EXPECT_EQ(stopped.questions, at) << source << ": asked again";
    }
  }
  // What is passed first is what is told.
  EXPECT_EQ(AskToStop("{{ range(99999)|list * 99999 }}", {}, 0).status.code(),
            ErrorCode::kResourceExhausted);
}

TEST(CostOfTemplates, OfTwentyThousandVariables) {
  std::string source;
  for (int i = 0; i < 20'000; ++i) source += "{%set v" + std::to_string(i) + "=1%}";
  CheckWithinLimits(source + "{% for i in range(99999) %}{{ v1 }}{{ v19999 }}{% endfor %}", {});
  std::string parameters;
  for (int i = 0; i < 20'000; ++i) parameters += "p" + std::to_string(i) + ",";
  parameters.pop_back();
  CheckWithinLimits("{% macro m(" + parameters +
                        ") %}{% endmacro %}"
                        "{% for i in range(99999) %}{{ m() }}{% endfor %}",
                    {});
}

TEST(CostOfTemplates, OfMegabytesOfText) {
  const boost::json::object variables{{"newlines", std::string(8 << 20, '\n')},
                                      {"letters", std::string(8 << 20, 'a')},
                                      {"list", "[" + std::string(4 << 20, ' ') + "1]"}};
  for (const char* expression :
       {"newlines|indent(900)", "newlines.split('\n')", "newlines.splitlines()", "letters|list",
        "letters.count('a')", "letters.replace('a', 'bb')", "letters.rfind('b' ~ letters[9:])",
        "letters.strip(letters)", "newlines|tojson", "[newlines]|string", "letters|upper",
        "'%s %.9s'|format(letters, letters)", "newlines|trim", "(letters ~ 'x') in letters"}) {
    CheckWithinLimits("{% set x = " + std::string(expression) + " %}", variables);
  }
}

TEST(CostOfTemplates, OfScopesThatMacrosKeep) {
  CheckWithinLimits(
      "{% for i in range(9999) %}{% for j in range(9999) %}{% macro m() %}{% endmacro %}"
      "{% set a = 1 %}{% set b = 1 %}{% set c = 1 %}{% endfor %}{% endfor %}",
      {});
}

TEST(CostOfTemplates, OfJsonInMessages) {
  std::string numbers = "[1";
  for (int i = 0; i < 1 << 20; ++i) numbers += ",1";
  std::string members = "{\"a\":1";
  for (int i = 0; i < 100'000; ++i) members += ",\"" + std::to_string(i) + "\":1";
  const boost::json::object variables{{"numbers", numbers + "]"}, {"members", members + "}"}};
  CheckWithinLimits("{% set x = numbers|from_json %}", variables);
  CheckWithinLimits("{% set x = members|from_json %}", variables);
}

TEST(CostOfTemplates, OfAnIndexIntoLongText) {
  std::string text;
  while (text.size() < 1 << 20) text += "\xC3\xA9";
  CheckWithinLimits(
      "{% for i in range(99999) %}{% set x = u[i + 5] ~ u[-i] ~ u[i:i + 3] %}{% endfor %}",
      {{"u", text}});
}

TEST(CostOfTemplates, SourcesTakeMemoryInProportion) {
  for (const char* unit : {"{%set a=1%}", "{{1}}", "a{{1+", "{{[", "{#x#}a", "{%if 1%}"}) {
    std::string source;
    while (source.size() < ChatTemplate::kMaxSourceBytes) source += unit;
    source.resize(ChatTemplate::kMaxSourceBytes);
    const test::Cost cost =
        test::CostOf([&] { static_cast<void>(ChatTemplate::Create(source, {})); });
    EXPECT_LT(cost.peak_bytes, 100 << 20) << unit;
    EXPECT_LT(cost.cpu_seconds, 1e6 * kSecondsPerStep) << unit;
  }
}

}  // namespace
}  // namespace skald::chat
