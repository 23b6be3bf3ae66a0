import { count } from './format.ts';

/** A value with its name. */
interface Bar {
  readonly id: string;
  readonly label: string;
  readonly value: number;
}

const WIDTH = 100;
const HEIGHT = 40;

/** A column for each value, the largest as high as the chart. It has its height before the values come. */
export function BarChart({ title, bars }: { title: string; bars: readonly Bar[] }) {
  const most = bars.reduce<Bar | null>(
    (top, bar) => (bar.value > (top?.value ?? 0) ? bar : top),
    null,
  );
  const step = WIDTH / Math.max(bars.length, 1);
  const summary = most ? `most: ${most.label}, ${count(most.value)}` : '';
  return (
    <figure className="chart">
      <figcaption>
        <span className="strong">{title}</span> <span>{summary}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${bars.map(({ label, value }) => `${label} ${value}`).join(', ')}`}
      >
        {bars.map(({ id, label, value }, index) => {
          const height = most ? Math.max(0.5, (value / most.value) * HEIGHT) : 0.5;
          return (
            <rect
              key={id}
              x={(index + 0.1) * step}
              width={0.8 * step}
              y={HEIGHT - height}
              height={height}
            >
              <title>{`${label}: ${count(value)}`}</title>
            </rect>
          );
        })}
      </svg>
    </figure>
  );
}
