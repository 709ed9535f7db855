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
      "word": "spring",
      "first": "The garden is full of tulips in early spring.",
      "at": 38,
      "second": "A broken spring inside the old mattress poked through the cloth."
    },
    {
      "word": "tie",
      "first": "The banker wore a striped tie with a dark suit.",
      "at": 26,
      "second": "The game ended in a tie after extra time."
    },
    {
      "word": "ruler",
      "first": "After the revolution the ruler fled into exile.",
      "at": 25,
      "second": "The teacher rapped him on the knuckles with a wooden ruler."
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
      "word": "사과",
      "first": "아침마다 껍질째 사과를 하나씩 먹으면 건강에 좋다고 한다.",
      "at": 9,
      "second": "장관은 자신의 실수를 인정하고 국민에게 사과를 했다."
    },
    {
      "word": "의사",
      "first": "의사는 할아버지께 담배를 끊으라고 여러 번 권했다.",
      "at": 0,
      "second": "노조는 회사와 다시 협상할 의사가 있다고 밝혔다."
    },
    {
      "word": "눈",
      "first": "책을 너무 오래 읽었더니 눈이 침침하고 따가웠다.",
      "at": 14,
      "second": "산꼭대기에는 오월에도 눈이 녹지 않고 그대로 쌓여 있다."
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
      "word": "花",
      "first": "春天到了，山坡上开满了红色的花。",
      "at": 14,
      "second": "为了买电脑，哥哥足足花了两个月的工资。"
    },
    {
      "word": "出轨",
      "first": "受地震影响，高铁出轨，所幸乘客平安。",
      "at": 8,
      "second": "妻子发现丈夫出轨后，坚决要求离婚。"
    },
    {
      "word": "生气",
      "first": "你别生气，我向你道歉还不行吗？",
      "at": 2,
      "second": "几个孩子的笑声给古老的院子带来了生气。"
    },
    {
      "word": "山寨",
      "first": "梁山好汉把抢来的财宝运回了山寨。",
      "at": 13,
      "second": "真品很贵，网上的山寨版本却便宜得多。"
    }
  ]
};
