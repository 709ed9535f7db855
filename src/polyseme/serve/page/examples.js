// Sentences to begin with: [text, the word to look at, another sentence to compare with]. The shipped texts have these
// words in several senses.

export const EXAMPLES = {
  en: [
    ["They fished from the bank of the river.", "bank", "She put her money in the bank."],
    ["Here is your birthday present.", "present", "Live in the present, not in the past."],
    ["He lit the fire with a match.", "match", "Our team won the match."],
    ["The flowers come out in spring.", "spring", "The water of the spring was cold."],
  ],
  ko: [
    ["밤새 눈이 많이 내렸다.", "눈이", "그 아이는 눈이 크다."],
    ["다리를 건너면 시장이 있다.", "다리를", "넘어져서 다리를 다쳤다."],
    ["배를 타고 바다로 나갔다.", "배를", "시원한 배를 깎아 먹었다."],
  ],
  zh: [
    ["院子里的花很香。", "花", "他花了很多钱。"],
    ["他打了一个电话。", "打", "他打了孩子一下。"],
    ["这个词是什么意思？", "意思", "这本书很有意思。"],
  ],
};
