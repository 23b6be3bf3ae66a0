import { type Figure, meets, written, writtenTarget } from './measurement.ts';
import { type Run, writtenCircumstances } from './run.ts';

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

/** A run as Markdown, for the README; the picture stands beside the results. */
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
    '`npm run bench` takes about six minutes, prints this table and renews it here; `npm run bench -- economy` runs one of them alone.',
    `Last run: ${writtenCircumstances(run)}.`,
    `![The figures against their targets, and the age of answers over time](${picture})`,
    ['| Bench | Figure | Measured | Target | |', '|---|---|--:|--:|---|', ...rows].join('\n'),
    run.measurements.map(({ bench, about }) => `- *${bench}*: ${about}`).join('\n'),
  ].join('\n\n');
}
