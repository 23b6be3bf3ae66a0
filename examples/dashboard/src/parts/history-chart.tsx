import { count, plural } from './format.ts';

/** The value of a count in a step; it was received in this step if it was observed. */
interface Step {
  readonly at: string;
  readonly value: number | null;
  readonly observed: boolean;
}

/** Consecutive steps with their values, or without: a gap. */
interface Segment {
  readonly from: number;
  /** `null` for each step of a gap. */
  readonly values: (number | null)[];
}

const HEIGHT = 40;

function segmentsOf(steps: readonly Step[]): readonly Segment[] {
  const segments: Segment[] = [];
  for (const [from, { value, observed }] of steps.entries()) {
    const known = observed ? value : null;
    const last = segments.at(-1);
    if (last && (last.values[0] === null) === (known === null)) last.values.push(known);
    else segments.push({ from, values: [known] });
  }
  return segments;
}

const isKnown = (value: number | null): value is number => value !== null;

interface HistoryChartProps {
  /** What is counted, and how long. */
  readonly title: string;
  /** The oldest first. */
  readonly steps: readonly Step[];
  /** The text for the time of a step. */
  readonly format: (at: string | undefined) => string;
  /** What brings a value. */
  readonly read: string;
}

/** A line from value to value with its gaps, and the same as a table. */
export function HistoryChart({ title, steps, format, read }: HistoryChartProps) {
  const segments = segmentsOf(steps);
  const values = segments.flatMap((segment) => segment.values).filter(isKnown);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const heightOf = (value: number): number =>
    high > low ? ((high - value) / (high - low)) * HEIGHT : HEIGHT / 2;
  const path = segments.map(({ from, values: some }) => {
    const [first, ...points] = some
      .filter(isKnown)
      .map((value, index) => `${from + index} ${heightOf(value)}`);
    if (first === undefined) return '';
    // A single value is a short dash.
    return points.length > 0 ? `M${[first, ...points].join('L')}` : `M${first}m-.25 0h.5`;
  });
  const timeOf = (index: number): string => format(steps[index]?.at);
  const gaps = segments.filter((segment) => segment.values[0] === null);
  const summary =
    values.length > 0 ? `${count(values[0])} to ${count(values.at(-1))}` : 'no values';
  return (
    <figure className="history">
      <figcaption>
        <span className="strong">{title}</span> <span>{summary}</span>
      </figcaption>
      <div className="plot">
        <span>{values.length > 0 && count(high)}</span>
        <svg
          viewBox={`0 0 ${steps.length - 1} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}: ${summary}, with ${plural(gaps.length, 'gap')}`}
        >
          <path d={path.join('')} vectorEffect="non-scaling-stroke" />
        </svg>
        <span>{high > low && count(low)}</span>
        <span>{timeOf(0)}</span>
        <span>{timeOf(steps.length - 1)}</span>
      </div>
      <p className="muted">
        {values.length < 2
          ? `The history has just started. It gets a value with each ${read}.`
          : gaps.length > 0 && `In a gap there was no ${read}.`}
      </p>
      <details>
        <summary>As a table</summary>
        <table>
          <tbody>
            {segments.flatMap(({ from, values: some }) =>
              some[0] === null ? (
                <tr key={from}>
                  <th scope="row">
                    {timeOf(from)} to {timeOf(from + some.length - 1)}
                  </th>
                  <td className="number">no value</td>
                </tr>
              ) : (
                some.map((value, index) => (
                  <tr key={from + index}>
                    <th scope="row">{timeOf(from + index)}</th>
                    <td className="number">{count(value)}</td>
                  </tr>
                ))
              ),
            )}
          </tbody>
        </table>
      </details>
    </figure>
  );
}
