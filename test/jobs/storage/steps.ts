/** The output of a step of a job in `endless-job.ts`: many kilobytes, so that a kill can find it half written. */
export function linesOfStep(step: number): string {
  return `${JSON.stringify({ step })}\n${JSON.stringify({ step, text: 'x'.repeat(50_000) })}\n`;
}

/** The rows of it. */
export function seenOfStep(step: number): string[] {
  return [`${step}.1`, `${step}.2`];
}
