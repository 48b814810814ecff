// What these protect: every JSON file and request of the product goes through this reader and these
// writers.
#include "io/json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace sightline::io {
namespace {

// The message of the error that parsing `text` throws; fails the test when there is none or another
// code.
std::string parse_error(std::string_view text) {
  try {
    parse_json(text, "x.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_json);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "one line";
    return error.what();
  }
  ADD_FAILURE() << "no error for " << text;
  return {};
}

TEST(Json, KeepsTypesAndOrder) {
  const Json value = parse_json(R"({"z": [1, -2, 2.0, true, null], "a": {"b": "c"}})", "x.json");
  EXPECT_EQ(to_json_text(value), R"({"z":[1,-2,2.0,true,null],"a":{"b":"c"}})");
  EXPECT_TRUE(value.find("z")->as_array()[0].is_int());
  EXPECT_TRUE(value.find("z")->as_array()[2].is_double());
  EXPECT_EQ(value.find("absent"), nullptr);
  EXPECT_EQ(Json(1).find("no object"), nullptr);
}

TEST(Json, NumbersAtTheBordersOfTheirTypes) {
  const Json value = parse_json(
      "[9223372036854775807, 9223372036854775808, -9223372036854775808,"
      " -9223372036854775809, 18446744073709551616, -0.0, 5e-324]",
      "x.json");
  const Json::Array& numbers = value.as_array();
  EXPECT_EQ(numbers[0].as_int(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(numbers[1].as_double(), 9223372036854775808.0);
  EXPECT_EQ(numbers[2].as_int(), std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE(numbers[3].is_double());
  EXPECT_TRUE(numbers[4].is_double());
  EXPECT_TRUE(std::signbit(numbers[5].as_double()));
  EXPECT_EQ(numbers[6].as_double(), std::numeric_limits<double>::denorm_min());
}

// JSON has no NaN and no infinity, whatever Python writes into configuration files.
TEST(Json, RefusesWhatIsNoNumber) {
  for (const char* text :
       {"NaN", "[Infinity]", "-Infinity", "1e999", "-1e999", "01", "+1", ".5", "1."}) {
    parse_error(text);
  }
  EXPECT_EQ(parse_error("[1e999]"),
            "x.json: invalid JSON at byte 5: number overflow parsing '1e999'");
  EXPECT_EQ(to_json_text(Json(std::nan(""))), "null");
  EXPECT_EQ(to_json_text(Json(HUGE_VAL)), "null");
}

TEST(Json, RefusesRepeatedKeys) {
  EXPECT_EQ(parse_error(R"({"a": 1, "b": {"a": 2}, "a": 3})"),
            "x.json: invalid JSON at byte 26: repeated key \"a\"");
  EXPECT_EQ(parse_error("{\"\\n\":1,\"\\n\":2}"),
            "x.json: invalid JSON at byte 11: repeated key \"\\n\"");
  // A key of any length makes a short message.
  const std::string key(100000, 'k');
  EXPECT_LT(parse_error("{\"" + key + "\":1,\"" + key + "\":2}").size(), 200U);
}

TEST(Json, DepthIsLimited) {
  const std::string deep(kMaxJsonDepth, '[');
  EXPECT_NO_THROW(parse_json(deep + std::string(kMaxJsonDepth, ']'), "x.json"));
  EXPECT_EQ(parse_error(deep + "["),
            "x.json: invalid JSON at byte 128: nested deeper than 128 levels");
  // Neither stack nor memory may grow with the input before the limit is seen.
  parse_error(std::string(10'000'000, '['));
  // Siblings are not depth.
  std::string wide = "[";
  for (int i = 0; i < 1000; ++i) wide += "[],{},";
  EXPECT_NO_THROW(parse_json(wide + "1]", "x.json"));
}

TEST(Json, Escapes) {
  EXPECT_EQ(parse_json(R"("\u00e9\ud83d\ude00\u0000\/\b")", "x.json").as_string(),
            std::string("\xC3\xA9\xF0\x9F\x98\x80\0/\b", 9));
  for (const char* text : {R"("\ud800")", R"("\ud800x")", R"("\udc00")", R"("\ud800\ud800")",
                           R"("\u12g4")", R"("\x41")", "\"a\nb\"", "\"open"}) {
    parse_error(text);
  }
  EXPECT_EQ(to_json_text(Json(std::string("\"\\\b\f\n\r\t\x01\x7F/\xC3\xA9", 12))),
            "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7F/\xC3\xA9\"");
}

TEST(Json, InvalidUtf8) {
  const std::vector<std::string> invalid = {"\x80",
                                            "\xC0\xAF",
                                            "\xC3",
                                            "\xE0\x9F\xBF",
                                            "\xED\xA0\x80",
                                            "\xF0\x8F\xBF\xBF",
                                            "\xF5\x80\x80\x80",
                                            "\xF4\x90\x80\x80",
                                            "\xFF"};
  for (const std::string& bytes : invalid) {
    const std::string message = parse_error("\"ab" + bytes + "\"");
    EXPECT_NE(message.find("UTF-8"), std::string::npos) << message;
    EXPECT_EQ(message.find(bytes), std::string::npos) << "the message itself must be valid UTF-8";
    // A writer never makes an invalid document.
    const std::string written = to_json_text(Json("ab" + bytes));
    EXPECT_NE(written.find("\xEF\xBF\xBD"), std::string::npos);
    EXPECT_NO_THROW(parse_json(written, "x.json"));
  }
}

TEST(Json, SyntaxErrorsNameFileAndByte) {
  EXPECT_EQ(parse_error("{\"a\" 1}").substr(0, 31), "x.json: invalid JSON at byte 5:");
  for (const char* text :
       {"", " ", "{", "[1,]", "{\"a\":1,}", "[1 2]", "nul", "{} x", "{1:2}", "'a'", "// c\n1"}) {
    parse_error(text);
  }
  for (const auto& text :
       {std::string("[1]\0", 4), std::string("[1]\0]", 5), std::string("\0", 1)}) {
    EXPECT_NE(parse_error(text), "");
  }
  // A long token does not make a long message.
  EXPECT_LT(parse_error("\"" + std::string(1'000'000, 'x')).size(), 300U);
}

// A checkpoint's own broken file is a fault of the checkpoint, not of the request.
TEST(Json, TheCallerNamesTheCode) {
  try {
    parse_json("[1,", "config.json", Code::invalid_config);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_config);
    EXPECT_EQ(std::string(error.what()).substr(0, 37), "config.json: invalid JSON at byte 3: ");
    EXPECT_EQ(error.context().size(), 2U);
  }
}

TEST(Json, FilesAreNamed) {
  try {
    read_json_file("no/such/file.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::file_not_found);
  }
}

TEST(Json, Indented) {
  EXPECT_EQ(to_json_text(parse_json(R"({"a":[1,{}],"b":[]})", "x.json"), 2),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
}

// Python: json.dumps(value, ensure_ascii=False)
TEST(Json, PythonText) {
  EXPECT_EQ(to_python_json(parse_json(R"({"a":[1,2.5,1e16,true,null],"é":"\u0001\n"})", "x.json")),
            "{\"a\": [1, 2.5, 1e+16, true, null], \"é\": \"\\u0001\\n\"}");
  EXPECT_EQ(to_python_json(Json(std::nan(""))), "NaN");
  EXPECT_EQ(to_python_json(Json(-HUGE_VAL)), "-Infinity");
}

struct Spelling {
  double value;
  const char* text;
};

// Written by Python: for v in values: print(v.hex(), repr(v)). Borders of the exponent form, then
// random values.
constexpr Spelling kSpellings[] = {
    {0x0.0p+0, "0.0"},
    {-0x0.0p+0, "-0.0"},
    {0x1.0000000000000p+0, "1.0"},
    {0x1.999999999999ap-4, "0.1"},
    {0x1.c6bf526340000p+49, "1000000000000000.0"},
    {0x1.1c37937e08000p+53, "1e+16"},
    {0x1.1c37937e07fffp+53, "9999999999999998.0"},
    {0x1.a36e2eb1c432dp-14, "0.0001"},
    {0x1.a36e2eb1c432cp-14, "9.999999999999999e-05"},
    {0x1.4f8b588e368f1p-17, "1e-05"},
    {0x1.b69b4ba630f35p+56, "1.2345678901234568e+17"},
    {0x0.0000000000001p-1022, "5e-324"},
    {0x1.fffffffffffffp+1023, "1.7976931348623157e+308"},
    {0x1.0000000000000p-1022, "2.2250738585072014e-308"},
    {0x1.0000000000000p+53, "9007199254740992.0"},
    {0x1.0f0cf064dd592p+73, "1e+22"},
    {0x1.52d02c7e14af6p+76, "1e+23"},
    {0x1.9000000000000p+6, "100.0"},
    {0x1.2d687e4189375p+20, "1234567.891"},
    {-0x1.4000000000000p+1, "-2.5"},
    {0x1.8000000000001p+1, "3.0000000000000004"},
    {0x1.1c37937e08000p+52, "5000000000000000.0"},
    {0x1.249ad2594c37dp+332, "1e+100"},
    {0x1.1666666666666p+2, "4.35"},
    {0x1.3333333333333p-2, "0.3"},
    {-0x1.74de452e6b438p+811, "-1.989032661366619e+244"},
    {0x1.3270e269e0d37p+594, "7.761117632285041e+178"},
    {0x1.c7fd0a6a3a450p-826, "3.980498358697587e-249"},
    {-0x1.f0824128b2f33p+292, "-1.5432835417340557e+88"},
    {0x1.8e811892f902bp-638, "1.3647584518757569e-192"},
    {-0x1.1985d5d9dc9f8p-684, "-1.3701135617873088e-206"},
    {-0x1.25d940ed90475p+655, "-1.7160537630466207e+197"},
    {0x1.675cc81e74ef5p-144, "6.294675241195386e-44"},
    {0x1.0a35a099950d8p-671, "1.0613447212142254e-202"},
    {0x1.d549b6f03675ap+689, "4.708325160387546e+207"},
    {0x1.c172411e20b8fp-38, "6.387016158513563e-12"},
    {-0x1.16ece1738f7d9p-814, "-9.973130378568733e-246"},
    {0x1.1ddb66cad4a26p-781, "8.779753225680271e-236"},
    {-0x1.192cfd3ac94afp-755, "-5.795503248498993e-228"},
    {-0x1.c105d1fb17c23p+809, "-5.988180159386011e+243"},
    {-0x1.0b33839263059p-488, "-1.306052388527796e-147"},
    {-0x1.f48f1a09f76b5p-684, "-2.436117699484841e-206"},
    {0x1.630f1f29d0da9p-770, "2.233386999150174e-232"},
    {-0x1.60af593bd04cfp-673, "-3.51527970626667e-203"},
    {0x1.1e29c658cda14p-820, "1.5987381841032883e-247"},
    {0x1.8d190f9ebdaccp-118, "4.6678633181812096e-36"},
    {-0x1.1973e0becd7b0p-791, "-8.441872792105456e-239"},
    {0x1.7beaddbc496cbp-478, "1.9015657400796622e-144"},
    {0x1.cb2424a23d596p+693, "7.370437700706684e+208"},
    {-0x1.a63ec24ede6a4p-857, "-1.7163996725272777e-258"},
    {-0x1.766581e27a1c0p-733, "-3.2367190832119987e-221"},
    {-0x1.d05584ef8aa38p-777, "-2.2818334634712625e-234"},
    {-0x1.7ba94d0eda82fp-278, "-3.0536383926309363e-84"},
    {0x1.1dbe22e44158bp-601, "1.3449551894627777e-181"},
    {-0x1.a736994e3bf91p-732, "-7.317495976062606e-221"},
    {0x1.850c5a38fd547p-254, "5.249822308814304e-77"},
    {0x1.135d25f557203p-624, "1.5450754142984396e-188"},
    {-0x1.ce4228c38fb29p-155, "-3.953625698224792e-47"},
    {-0x1.a70c31012f037p-760, "-2.72491267476498e-229"},
    {-0x1.769b10f4205b4p-536, "-6.505141861548772e-162"},
    {0x1.5052434b9b5dfp+1010, "1.441484839555994e+304"},
    {-0x1.ed162ae2eb154p-894, "-1.4583679262758548e-269"},
    {-0x1.877186d76b07ep+112, "-7.939416668807721e+33"},
    {0x1.1af10506bf2efp+884, "1.4255183989699612e+266"},
    {0x1.ced34e6ff674bp+1, "3.6158235594456634"},
    {-0x1.bf5b3f7e62e92p+2, "-6.989944337295713"},
    {-0x1.56621a2e9632ap+32, "-5744237102.58671"},
    {0x1.36e94aa353f2bp+56, "8.75137495573429e+16"},
    {0x1.e314540ea88a4p-16, "2.8793776489018653e-05"},
    {-0x1.a3601891373d2p-5, "-0.051193283064754916"},
    {0x1.21e332d522daep+27, "151984534.66050476"},
    {0x1.1d4535080c6d5p+45, "39207257047437.664"},
    {-0x1.6407f32449a05p+39, "-764570866212.8131"},
    {0x1.09b878f1b6625p+15, "34012.23621911955"},
    {0x1.ba6cc836d0dedp+25, "57989520.42824922"},
    {-0x1.4ffcb362ae075p+6, "-83.99677805125414"},
    {0x1.245c527732c40p-14, "6.970420678269282e-05"},
    {-0x1.6d946513d7df4p+9, "-731.1593346408904"},
    {0x1.15ece20dd49e5p+18, "284595.5320941492"},
    {0x1.136d2671c8d79p+21, "2256292.805558857"},
    {0x1.606c49545f75cp-13, "0.00016804837890654456"},
    {0x1.a2e576cc5d468p+55, "5.89544193313104e+16"},
    {0x1.4b1c686c46ba3p+0, "1.2934022201868423"},
    {0x1.74d6b47221b2bp+28, "390949703.13322705"},
    {-0x1.44ef24280a366p+17, "-166366.28247192054"},
    {0x1.0d965c87616b5p+23, "8833838.264415124"},
    {0x1.13efabc35b34dp+16, "70639.67094965019"},
    {0x1.39d450ff362a3p-7, "0.009577312039639912"},
    {-0x1.c31e0cf06a5cep+0, "-1.7621772849037032"},
    {-0x1.6781d7c1e640cp+33, "-12063059843.798851"},
    {-0x1.1a1f3da310219p-22, "-2.6274661929853794e-07"},
    {-0x1.474d4cdb8cc62p+15, "-41894.65011253279"},
    {0x1.0ee30046f7805p+53, "9530979255250954.0"},
    {-0x1.9594c2f0b420ep+58, "-4.5664372220287475e+17"},
    {0x1.84bd685b0616ap+18, "398069.6305556508"},
    {-0x1.d63cb45cd18c8p+18, "-481522.8181651947"},
};

TEST(Json, PythonFloats) {
  for (const Spelling& spelling : kSpellings)
    EXPECT_EQ(python_float(spelling.value), spelling.text);
}

// What each reader call refuses, as a user sees it.
TEST(JsonReader, ErrorsNameFilePathExpectedAndFound) {
  const Json value = parse_json(R"({"a": {"b": [1, 2.5, "x", null]}, "n": null})", "config.json");
  const JsonReader root(value, "config.json", "", Code::invalid_config);
  const JsonReader list = root.at("a").at("b");
  EXPECT_EQ(list.size(), 4U);
  EXPECT_EQ(list.at(std::size_t{0}).integer(0, 5), 1);
  EXPECT_EQ(list.at(1).number(0, 5), 2.5);
  EXPECT_EQ(list.at(std::size_t{0}).number(0, 5), 1.0);
  EXPECT_EQ(list.at(2).string(), "x");
  EXPECT_TRUE(root.has("a"));
  EXPECT_FALSE(root.has("n")) << "null counts as absent";
  EXPECT_EQ(list.at(1).path(), "a.b[1]");

  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_config);
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([&] { (void)root.at("absent"); }),
            "config.json: absent: expected a value, found nothing");
  EXPECT_EQ(message([&] { (void)root.at("n"); }), "config.json: n: expected a value, found null");
  EXPECT_EQ(message([&] { (void)list.at(4); }),
            "config.json: a.b: expected at least 5 elements, found 4");
  EXPECT_EQ(message([&] { (void)list.at("x"); }),
            "config.json: a.b: expected an object, found array");
  EXPECT_EQ(message([&] { (void)root.at("a").size(); }),
            "config.json: a: expected an array, found object");
  EXPECT_EQ(message([&] { (void)list.at(1).integer(0, 5); }),
            "config.json: a.b[1]: expected an integer from 0 to 5, found 2.5");
  EXPECT_EQ(message([&] { (void)list.at(std::size_t{0}).integer(2, 5); }),
            "config.json: a.b[0]: expected an integer from 2 to 5, found 1");
  EXPECT_EQ(message([&] { (void)list.at(2).number(0, 1); }),
            "config.json: a.b[2]: expected a number from 0 to 1, found \"x\"");
  EXPECT_EQ(message([&] { (void)list.at(2).boolean(); }),
            "config.json: a.b[2]: expected true or false, found \"x\"");
  EXPECT_EQ(message([&] { (void)list.at(1).string(); }),
            "config.json: a.b[1]: expected a string, found 2.5");
  EXPECT_EQ(message([&] { (void)root.integer(0, 1); }).substr(0, 24), "config.json: expected an");
}

// Cut between characters, never within one.
TEST(JsonReader, LongFindingsAreCut) {
  std::string text = "x";
  for (int i = 0; i < 100; ++i) text += "é";
  const Json value(text);
  try {
    (void)JsonReader(value, "f", "p", Code::invalid_config).boolean();
    FAIL();
  } catch (const Error& error) {
    EXPECT_LT(std::string(error.what()).size(), 140U);
    EXPECT_EQ(parse_json(to_json_text(Json(error.what())), "x").as_string(), error.what())
        << "still valid UTF-8";
  }
}

}  // namespace
}  // namespace sightline::io
