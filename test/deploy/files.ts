import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** What a panel, a variable or an annotation of the dashboard asks. */
export interface Query {
  readonly place: string;
  /** PromQL, with `$job` and its like in matchers. */
  readonly expr: string;
  /** What names each of its results, such as `{{upstream}} used`; labels that it does not have stay empty. */
  readonly legend: string;
}

/** A panel of the dashboard that is no row. */
export interface Panel {
  readonly id: number;
  readonly title: string;
  readonly description: string;
  readonly type: string;
  readonly datasource: Datasource;
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
  readonly fieldConfig: {
    readonly defaults: { readonly unit?: string };
    readonly overrides: readonly {
      readonly matcher: { readonly id: string; readonly options: string };
    }[];
  };
  readonly targets: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly legendFormat: string;
    readonly datasource: Datasource;
  }[];
}

interface Datasource {
  readonly type: string;
  readonly uid: string;
}

interface Row extends Pick<Panel, 'id' | 'title' | 'gridPos'> {
  readonly type: 'row';
  readonly collapsed: boolean;
  readonly panels: readonly Panel[];
}

interface Dashboard {
  readonly panels: readonly (Panel | Row)[];
  readonly templating: {
    readonly list: readonly {
      readonly name: string;
      readonly type: string;
      readonly query: string | { readonly query: string };
      readonly datasource?: Datasource;
    }[];
  };
  readonly annotations: {
    readonly list: readonly {
      readonly name: string;
      readonly expr: string;
      readonly textFormat: string;
      readonly datasource: Datasource;
    }[];
  };
}

export const dashboardText = readFileSync('deploy/grafana.json', 'utf8');
export const dashboard = JSON.parse(dashboardText) as Dashboard;

/** Everything of the dashboard that has a place and a number: panels and rows, those in folded rows too. */
export const pieces: readonly (Panel | Row)[] = dashboard.panels.flatMap((piece) =>
  isRow(piece) ? [piece, ...piece.panels] : [piece],
);

/** The panels by the title of their row; those that stand above all rows have none. */
export const rows: ReadonlyMap<string, readonly Panel[]> = byRow();

/** All rules of `deploy/alerts.yaml`. */
export const alerts: readonly Alert[] = (
  parse(readFileSync('deploy/alerts.yaml', 'utf8')) as {
    readonly groups: readonly { readonly rules: readonly Alert[] }[];
  }
).groups.flatMap(({ rules }) => rules);

export function queriesOf(panels: readonly Panel[]): Query[] {
  return panels.flatMap(({ targets, title }) =>
    targets.map(({ expr, legendFormat, refId }) => ({
      place: `${title} ${refId}`,
      expr: withWindow(expr),
      legend: legendFormat,
    })),
  );
}

/** What the variables ask for their values: series, and the label of them that is wanted. */
export function queriesOfVariables(): Query[] {
  return dashboard.templating.list.flatMap(({ name, query }) => {
    const text = typeof query === 'string' ? query : query.query;
    const [, expr = text, label = ''] = /^label_values\((.*), (\w+)\)$/.exec(text) ?? [];
    return label === '' ? [] : [{ place: `$${name}`, expr, legend: `{{${label}}}` }];
  });
}

export function queriesOfAnnotations(): Query[] {
  return dashboard.annotations.list.map(({ expr, name, textFormat }) => ({
    place: name,
    expr: withWindow(expr),
    legend: textFormat,
  }));
}

/** An expression with a duration where Grafana puts one. */
export function withWindow(expr: string): string {
  return expr.replaceAll('[$__rate_interval]', '[5m]');
}

function isRow(piece: Panel | Row): piece is Row {
  return piece.type === 'row';
}

function byRow(): Map<string, Panel[]> {
  const found = new Map<string, Panel[]>([['', []]]);
  let row = '';
  for (const piece of dashboard.panels) {
    if (isRow(piece)) {
      row = piece.title;
      found.set(row, [...piece.panels]);
    } else {
      found.get(row)?.push(piece);
    }
  }
  return found;
}
