#include "chat/strftime.h"

#include <cstdint>

#include "base/status_macros.h"

namespace skald::chat {

namespace {

constexpr std::string_view kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                      "Thursday", "Friday", "Saturday"};
constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};

// The parts of a time as people count them.
struct Calendar {
  explicit Calendar(std::chrono::local_seconds time) {
    const auto days = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(days);
    const int64_t seconds = (time - days).count();
    year = static_cast<int>(date.year());
    month = static_cast<unsigned>(date.month());
    day = static_cast<unsigned>(date.day());
    weekday = std::chrono::weekday(days).c_encoding();
    const std::chrono::local_days new_year(date.year() / std::chrono::January / 1);
    day_of_year = (days - new_year).count() + 1;
    hour = seconds / 3600;
    minute = seconds / 60 % 60;
    second = seconds % 60;
  }

  int year;
  unsigned month, day, weekday;
  int64_t day_of_year, hour, minute, second;
};

// `number` with at least `width` digits, filled with `fill`; '\0' is no filling.
std::string Padded(int64_t number, size_t width, char fill) {
  std::string digits = std::to_string(number);
  if (fill != '\0' && digits.size() < width) digits.insert(0, width - digits.size(), fill);
  return digits;
}

// A conversion that is a number.
bool AppendNumber(char letter, const Calendar& at, bool bare, std::string* out) {
  const char zero = bare ? '\0' : '0';
  const int64_t twelve = at.hour % 12 == 0 ? 12 : at.hour % 12;
  switch (letter) {
    case 'Y': *out += std::to_string(at.year); return true;
    case 'y': *out += Padded(at.year % 100, 2, zero); return true;
    case 'm': *out += Padded(at.month, 2, zero); return true;
    case 'd': *out += Padded(at.day, 2, zero); return true;
    case 'e': *out += Padded(at.day, 2, bare ? '\0' : ' '); return true;
    case 'j': *out += Padded(at.day_of_year, 3, zero); return true;
    case 'H': *out += Padded(at.hour, 2, zero); return true;
    case 'I': *out += Padded(twelve, 2, zero); return true;
    case 'M': *out += Padded(at.minute, 2, zero); return true;
    case 'S': *out += Padded(at.second, 2, zero); return true;
    case 'w': *out += std::to_string(at.weekday); return true;
    case 'u': *out += std::to_string(at.weekday == 0 ? 7 : at.weekday); return true;
    default: return false;
  }
}

bool AppendWord(char letter, const Calendar& at, std::string* out) {
  constexpr size_t kShort = 3;
  switch (letter) {
    case 'A': *out += kDays[at.weekday]; return true;
    case 'a': *out += kDays[at.weekday].substr(0, kShort); return true;
    case 'B': *out += kMonths[at.month - 1]; return true;
    case 'b':
    case 'h': *out += kMonths[at.month - 1].substr(0, kShort); return true;
    case 'p': *out += at.hour < 12 ? "AM" : "PM"; return true;
    case 'Z':
    case 'z': return true;
    case 'n': *out += '\n'; return true;
    case 't': *out += '\t'; return true;
    case '%': *out += '%'; return true;
    default: return false;
  }
}

// What stands for several conversions; empty if `letter` is none of these.
std::string_view Abbreviation(char letter) {
  switch (letter) {
    case 'F': return "%Y-%m-%d";
    case 'T':
    case 'X': return "%H:%M:%S";
    case 'D':
    case 'x': return "%m/%d/%y";
    case 'R': return "%H:%M";
    case 'c': return "%a %b %e %H:%M:%S %Y";
    default: return "";
  }
}

Status Append(std::string_view format, const Calendar& at, std::string* out) {
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      *out += format[i];
      continue;
    }
    ++i;
    const bool bare = format[i] == '-' && i + 1 < format.size();
    if (bare) ++i;
    const std::string_view longer = Abbreviation(format[i]);
    if (!longer.empty()) {
      RETURN_IF_ERROR(Append(longer, at, out));  // one level: abbreviations hold none
    } else if (!AppendNumber(format[i], at, bare, out) && !AppendWord(format[i], at, out)) {
      return Status(ErrorCode::kUnsupported,
                    std::string("strftime_now: '%") + format[i] + "' is not supported");
    }
  }
  return Ok();
}

}  // namespace

Result<std::string> Strftime(std::string_view format, std::chrono::local_seconds time) {
  std::string text;
  RETURN_IF_ERROR(Append(format, Calendar(time), &text));
  return text;
}

}  // namespace skald::chat
