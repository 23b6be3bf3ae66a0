import { type Figure, meets, written, writtenTarget } from './measurement.ts';
import { type Run, writtenCircumstances, writtenRun } from './run.ts';

/** A run as a person reads it in a terminal. */
export function tableForTerminal(run: Run): string {
  const figures = run.measurements.flatMap(({ figures }) => figures);
  const longest = (text: (figure: Figure) => string) =>
    Math.max(...figures.map((figure) => text(figure).length));
  const widths = [longest(({ label }) => label), longest(written), longest(writtenTarget)] as const;
  const lines = run.measurements.flatMap(({ bench, figures }) => [
    '',
    bench,
    ...figures.map((figure) =>
      [
        meets(figure) ? ' ' : '✗',
        figure.label.padEnd(widths[0]),
        written(figure).padStart(widths[1]),
        writtenTarget(figure).padEnd(widths[2]),
        figure.note ?? '',
      ]
        .join('  ')
        .trimEnd(),
    ),
  ]);
  return [writtenCircumstances(run), ...lines].join('\n');
}

/** A run as Markdown, for the page of figures; the picture stands beside the results. */
export function section(run: Run, picture: string): string {
  const rows = run.measurements.flatMap(({ bench, figures }) =>
    figures.map((figure, index) => {
      const value = meets(figure) ? written(figure) : `**${written(figure)}**`;
      const cells = [
        index === 0 ? bench : '',
        figure.label,
        value,
        writtenTarget(figure),
        figure.note ?? '',
      ];
      return `| ${cells.join(' | ')} |`;
    }),
  );
  return [
    `Last run: ${writtenRun(run)}.`,
    `![The figures against their targets, the age of answers over time, and requests over time while replicas are killed](${picture})`,
    ['| Bench | Figure | Measured | Target | |', '|---|---|--:|--:|---|', ...rows].join('\n'),
    run.measurements.map(({ bench, about }) => `- *${bench}*: ${about}`).join('\n'),
  ].join('\n\n');
}

/**
 * The sentence of the README with the figures of a run.
 * @throws Error when the run has not measured them.
 */
export function headline(run: Run): string {
  const figure = (label: string): Figure => {
    const found = run.measurements
      .flatMap(({ figures }) => figures)
      .find((each) => each.label === label);
    if (!found) throw new Error(`no figure is called ${label}`);
    return found;
  };
  const views = figure('sliding window: views complete and correct');
  const busiest = figure('sliding window: upstream calls in the busiest minute');
  return `20 page views per second under a limit of 30 requests per minute: ${written(views)} complete and correct (${views.note}), with ${written(busiest)} upstream requests in the busiest minute (${busiest.note}).`;
}
