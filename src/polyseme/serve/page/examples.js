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
      "word": "bill",
      "first": "The waiter brought the bill and we paid in cash.",
      "at": 23,
      "second": "The president signed the bill despite protests from his own party."
    },
    {
      "word": "tie",
      "first": "The banker wore a striped tie with a dark suit.",
      "at": 26,
      "second": "The game ended in a tie after extra time."
    },
    {
      "word": "cabinet",
      "first": "Grandma's porcelain stood in a glass cabinet in the parlour.",
      "at": 37,
      "second": "After the scandal the entire cabinet resigned."
    },
    {
      "word": "bat",
      "first": "A bat flew out of the dark cave at dusk.",
      "at": 2,
      "second": "The boy swung his bat and hit the ball over the fence."
    }
  ],
  "ko": [
    {
      "word": "대사",
      "first": "두 나라의 수교를 기념하는 만찬에 대사가 참석했다.",
      "at": 19,
      "second": "결말에서 주인공이 내뱉는 대사가 오래도록 잊히지 않는다."
    },
    {
      "word": "의식",
      "first": "교통사고를 당한 환자는 사흘 만에 의식을 되찾았다.",
      "at": 19,
      "second": "부족의 추장은 풍년을 비는 의식을 거행했다."
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
      "first": "목장 주인은 봄마다 양을 몰고 산으로 올라간다.",
      "at": 11,
      "second": "장마철에 댐은 흘려보내는 물의 양을 조절한다."
    }
  ],
  "zh": [
    {
      "word": "花",
      "first": "春天到了，山坡上开满了红色的花。",
      "at": 14,
      "second": "为了买电脑，哥哥足足花了两个月的工资。"
    },
    {
      "word": "单位",
      "first": "我爸爸的单位离家很远，骑车要四十分钟。",
      "at": 4,
      "second": "公里和英里都是计算距离的单位。"
    },
    {
      "word": "生气",
      "first": "你别生气，我向你道歉还不行吗？",
      "at": 2,
      "second": "几个孩子的笑声给古老的院子带来了生气。"
    },
    {
      "word": "下场",
      "first": "教练让前锋下场休息，换上了新人。",
      "at": 5,
      "second": "贪官的下场往往是坐一辈子牢。"
    },
    {
      "word": "制服",
      "first": "航空公司的空姐都穿着整齐的蓝色制服。",
      "at": 15,
      "second": "两名保安很快就制服了持刀的歹徒。"
    }
  ]
};
