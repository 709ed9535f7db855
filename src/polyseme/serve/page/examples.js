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
      "word": "letter",
      "first": "We received a letter from the tax office this morning.",
      "at": 14,
      "second": "The Greek letter pi stands for a famous number."
    },
    {
      "word": "court",
      "first": "The court found him guilty of theft and fined him heavily.",
      "at": 4,
      "second": "The players walked onto the court with their rackets under their arms."
    },
    {
      "word": "bat",
      "first": "Unlike a bird, a bat has fur and gives birth to live young.",
      "at": 17,
      "second": "The boy swung his bat and hit the ball over the fence."
    },
    {
      "word": "trunk",
      "first": "Using her trunk, the calf sprayed water over her back.",
      "at": 10,
      "second": "The porter carried a heavy trunk full of books to the train."
    }
  ],
  "ko": [
    {
      "word": "대사",
      "first": "두 나라의 수교를 기념하는 만찬에 대사가 참석했다.",
      "at": 19,
      "second": "무성 영화에서는 대사를 자막으로 보여 준다."
    },
    {
      "word": "의식",
      "first": "교통사고를 당한 환자는 사흘 만에 의식을 되찾았다.",
      "at": 19,
      "second": "마을 사람들은 하얀 옷을 입고 신성한 의식에 참여했다."
    },
    {
      "word": "전기",
      "first": "태풍으로 전봇대가 쓰러져 마을에 전기가 끊겼다.",
      "at": 18,
      "second": "작가는 베토벤의 전기를 쓰려고 오 년 동안 자료를 모았다."
    },
    {
      "word": "의사",
      "first": "의사는 할아버지께 담배를 끊으라고 여러 번 권했다.",
      "at": 0,
      "second": "노조는 회사와 다시 협상할 의사가 있다고 밝혔다."
    },
    {
      "word": "양",
      "first": "늑대가 울타리를 넘어 들어와 양을 잡아먹었다.",
      "at": 16,
      "second": "장마철에 댐은 흘려보내는 물의 양을 조절한다."
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
      "second": "贪官的下场往往是坐一辈子牢。"
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
