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

/** What stands for a bench in the table of the page, where that is not its first figure with a target. */
const TELLING = new Set([
  'attacks during which an honest reader gets errors',
  'with reserves: largest difference between the share of a class and its weight',
  'the first of a process (first start), an upstream of 40 ms, over Apollo Server',
  'N = 300: oldest data over N/B',
  'sliding window: views complete and correct',
  'even pace: slots that the callers left and the export used',
  'time from the response to a mutation until the event on each of 1000 streams, p99',
]);

/** Figures that compare the gateway with another server. */
const PEERS =
  /^(?:repeated|Yoga.*|Apollo.*), plain headers$|over Apollo Server$|over that of a bare Yoga/;

/** A run as Markdown, for the page of figures. */
export function section(run: Run): string {
  const figures = run.measurements.flatMap(({ figures }) => figures);
  const peers = figures
    .filter(({ label }) => PEERS.test(label))
    .map((figure) => row([figure.label, marked(figure), figure.note ?? '']));
  const benches = run.measurements.map(({ bench, figures }) => {
    const bound = figures.filter(({ target }) => target);
    const told = bound.find(({ label }) => TELLING.has(label)) ?? bound[0] ?? figures[0];
    if (!told) throw new Error(`${bench} has no figure`);
    const met = `${bound.filter(meets).length} of ${bound.length}`;
    return row([bench, told.label, marked(told), writtenTarget(told), met]);
  });
  const missed = run.measurements.flatMap(({ bench, figures }) =>
    figures
      .filter((figure) => !meets(figure))
      .map(
        (figure) => `- *${bench}*, ${figure.label}: ${written(figure)}, ${writtenTarget(figure)}`,
      ),
  );
  return [
    `Last run: ${writtenRun(run)}.`,
    ['| Compared with others | Measured | |', '|---|--:|---|', ...peers].join('\n'),
    [
      '| Bench | Figure | Measured | Target | Targets met |',
      '|---|---|--:|--:|--:|',
      ...benches,
    ].join('\n'),
    ...(missed.length > 0 ? ['Figures that miss their targets:', missed.join('\n')] : []),
    'What each bench does:',
    run.measurements.map(({ bench, about }) => `- *${bench}*: ${about}`).join('\n'),
  ].join('\n\n');
}

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const marked = (figure: Figure): string =>
  meets(figure) ? written(figure) : `**${written(figure)}**`;

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
