// Pairs of sentences to begin with, one word in two senses, written by benchmarks/explorer_examples.py: words
// whose labelled sentences fall into the groups of the bundled model, the best first.

export const EXAMPLES = {
  "en": [
    {
      "word": "spring",
      "first": "The garden is full of tulips in early spring.",
      "at": 38,
      "second": "Press the button and a spring pushes the lid open."
    },
    {
      "word": "letter",
      "first": "We received a letter from the tax office this morning.",
      "at": 14,
      "second": "The word begins with a capital letter and ends in a vowel."
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
    },
    {
      "word": "bark",
      "first": "Beetles had bored hundreds of holes in the rough bark of the oak.",
      "at": 49,
      "second": "The puppy greeted its master with a joyful bark."
    }
  ],
  "ko": [
    {
      "word": "의사",
      "first": "기침이 멎지 않아 결국 의사를 찾아가 진찰을 받았다.",
      "at": 13,
      "second": "노조는 회사와 다시 협상할 의사가 있다고 밝혔다."
    },
    {
      "word": "양",
      "first": "늑대가 울타리를 넘어 들어와 양을 잡아먹었다.",
      "at": 16,
      "second": "다이어트 중이라 먹는 밥의 양을 절반으로 줄였다."
    },
    {
      "word": "대사",
      "first": "외교부는 항의의 뜻으로 일본 대사를 불러들였다.",
      "at": 16,
      "second": "무성 영화에서는 대사를 자막으로 보여 준다."
    },
    {
      "word": "가사",
      "first": "작곡가가 선율을 짓고 시인이 가사를 붙였다.",
      "at": 16,
      "second": "어머니는 평생 가사를 돌보며 세 아이를 키우셨다."
    },
    {
      "word": "절",
      "first": "단풍으로 이름난 이 절은 가을마다 등산객으로 붐빈다.",
      "at": 11,
      "second": "설날 아침에 아이들은 어른들께 절을 하고 용돈을 받았다."
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
      "word": "左右",
      "first": "她看上去三十岁左右，留着短发。",
      "at": 7,
      "second": "没有人能左右他的决定。"
    }
  ]
};
