// Texts of the labs in English. The Chinese file has the same keys, or the build fails.

export const kLabsEn = {
  lead_calculator: 'From the sides of a picture or clip to the tokens that the language model reads, by the rules of each model’s own processor.',
} as const;
