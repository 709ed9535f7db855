// Pairs of sentences to begin with, one word in two senses, written by benchmarks/explorer_examples.py: words
// whose labelled sentences fall into the groups of the bundled model, the best first.

export const EXAMPLES = {
  "en": [
    {
      "word": "match",
      "first": "Thousands of fans came to the stadium to watch the match.",
      "at": 51,
      "second": "He struck a match and held it to the candle."
    },
    {
      "word": "ring",
      "first": "He put the gold ring on her finger and kissed her.",
      "at": 16,
      "second": "His trainer threw a towel into the ring to stop the bout."
    },
    {
      "word": "bark",
      "first": "Beetles had bored hundreds of holes in the rough bark of the oak.",
      "at": 49,
      "second": "Somewhere beyond the farmyard we heard a deep bark and then a growl."
    },
    {
      "word": "port",
      "first": "Fishing boats left the port before dawn.",
      "at": 23,
      "second": "He poured her another glass of port."
    },
    {
      "word": "cabinet",
      "first": "Grandma's porcelain stood in a glass cabinet in the parlour.",
      "at": 37,
      "second": "After the scandal the entire cabinet resigned."
    }
  ],
  "ko": [
    {
      "word": "대사",
      "first": "외교부는 항의의 뜻으로 일본 대사를 불러들였다.",
      "at": 16,
      "second": "무성 영화에서는 대사를 자막으로 보여 준다."
    },
    {
      "word": "사고",
      "first": "안전모를 쓰지 않으면 공사장에서 큰 사고를 당할 수 있다.",
      "at": 20,
      "second": "어려운 수학 문제를 풀려면 논리적인 사고를 해야 한다."
    },
    {
      "word": "의사",
      "first": "기침이 멎지 않아 결국 의사를 찾아가 진찰을 받았다.",
      "at": 13,
      "second": "노조는 회사와 다시 협상할 의사가 있다고 밝혔다."
    },
    {
      "word": "양",
      "first": "목장 주인은 봄마다 양을 몰고 산으로 올라간다.",
      "at": 11,
      "second": "다이어트 중이라 먹는 밥의 양을 절반으로 줄였다."
    },
    {
      "word": "연기",
      "first": "고기를 굽는 동안 부엌에 연기가 자욱하게 찼다.",
      "at": 14,
      "second": "관객들은 일인이역을 소화한 그녀의 연기에 박수를 보냈다."
    }
  ],
  "zh": [
    {
      "word": "制服",
      "first": "航空公司的空姐都穿着整齐的蓝色制服。",
      "at": 15,
      "second": "两名保安很快就制服了持刀的歹徒。"
    },
    {
      "word": "马上",
      "first": "你等我一下，我马上就到。",
      "at": 7,
      "second": "他从马上摔下来，跌断了一条腿。"
    },
    {
      "word": "下场",
      "first": "教练让前锋下场休息，换上了新人。",
      "at": 5,
      "second": "跟我作对的人都不会有好下场。"
    },
    {
      "word": "花",
      "first": "春天到了，山坡上开满了红色的花。",
      "at": 14,
      "second": "为了买电脑，哥哥足足花了两个月的工资。"
    },
    {
      "word": "背",
      "first": "搬了一天货，他的背又酸又疼。",
      "at": 8,
      "second": "老师要求我们明天背这首诗。"
    }
  ]
};
