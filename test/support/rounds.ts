const times = Number(process.env['ROUNDS'] ?? 1);

/** How many rounds a test with random input runs: `usual` many, and `ROUNDS` times as many in `npm run soak:laws`. */
export function rounds(usual: number): number {
  return Math.ceil(usual * times);
}
