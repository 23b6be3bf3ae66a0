import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import type { Served } from './served.ts';

export interface Reading {
  /** What is wrong with it, in words; none where it is sound. */
  readonly faults: readonly string[];
  /** The metrics that it reads, without `_bucket`, `_sum` and `_count`. */
  readonly metrics: ReadonlySet<string>;
  /** Counters of which it asks whether they grew: metric and matchers, as they are written. */
  readonly grown: readonly string[];
  /** The labels that its results have; null for a number without any. */
  readonly labels: ReadonlySet<string> | null;
}

type Labels = ReadonlySet<string> | null;

/** Functions that make sense of a counter. */
const OF_COUNTERS = new Set(['rate', 'increase']);
/** Functions whose first argument is no vector. */
const VECTOR_COMES_SECOND = new Set(['histogram_quantile', 'quantile_over_time']);
/** Functions that give a number, or a vector without labels. */
const WITHOUT_LABELS = new Set(['time', 'vector', 'scalar']);

/** Reads an expression of PromQL against what there is to read. */
export function readPromql(text: string, served: Served): Reading {
  const reader = new Reader(text, served);
  const tree = parser.parse(text);
  let isBroken = false;
  tree.iterate({
    enter: ({ type }) => {
      isBroken ||= type.isError;
    },
  });
  const root = tree.topNode.firstChild;
  if (isBroken || !root) {
    return { faults: [`is no PromQL: ${text}`], metrics: new Set(), grown: [], labels: null };
  }
  const labels = reader.labelsOf(root, null);
  const { faults, grown, metrics } = reader;
  return { faults, grown, labels, metrics };
}

class Reader {
  readonly faults: string[] = [];
  readonly metrics = new Set<string>();
  readonly grown: string[] = [];
  readonly #text: string;
  readonly #served: Served;

  constructor(text: string, served: Served) {
    this.#text = text;
    this.#served = served;
  }

  /** The labels of what a node comes to; `around` is the function that it is handed to. */
  labelsOf(node: SyntaxNode, around: string | null): Labels {
    switch (node.name) {
      case 'NumberDurationLiteral':
      case 'StringLiteral':
        return null;
      case 'ParenExpr':
      case 'UnaryExpr':
      case 'OffsetExpr':
      case 'SubqueryExpr':
        return this.labelsOf(operands(node)[0] as SyntaxNode, around);
      case 'MatrixSelector':
        return this.#selected(child(node, 'VectorSelector'), around, true);
      case 'VectorSelector':
        return this.#selected(node, around, false);
      case 'FunctionCall':
        return this.#called(node);
      case 'AggregateExpr':
        return this.#aggregated(node);
      case 'BinaryExpr':
        return this.#combined(node);
      default:
        this.faults.push(`is more than this test can read: ${node.name}`);
        return null;
    }
  }

  #selected(node: SyntaxNode, around: string | null, isRange: boolean): Labels {
    const name = this.#word(child(node, 'Identifier'));
    const metric = this.#served.metric(name);
    if (!metric) {
      this.faults.push(`${name} is no metric`);
      return new Set();
    }
    this.metrics.add(metric.family);
    const { labels, type } = metric;
    const isCounter = type === 'counter' || type === 'histogram';
    if (isCounter !== OF_COUNTERS.has(around ?? '')) {
      const sort = isCounter ? 'a counter' : 'no counter';
      this.faults.push(`${name} is ${sort}, and read by ${around ?? 'nothing'}`);
    }
    if (isRange && around === 'increase') this.grown.push(this.#word(node));
    if (type === 'histogram' && name === metric.family) {
      this.faults.push(`${name} is a histogram: read its _bucket, _sum or _count`);
    }
    for (const matcher of all(node, 'UnquotedLabelMatcher')) {
      const label = this.#word(child(matcher, 'LabelName'));
      const value = JSON.parse(this.#word(child(matcher, 'StringLiteral'))) as string;
      const op = this.#word(child(matcher, 'MatchOp'));
      if (!labels.has(label)) this.faults.push(`${name} has no label ${label}`);
      else this.faults.push(...this.#served.unmatched(metric.family, label, op, value));
    }
    return labels;
  }

  #called(node: SyntaxNode): Labels {
    const name = this.#word(child(node, 'FunctionIdentifier'));
    const given = operands(child(node, 'FunctionCallBody'));
    const all = given.map((each) => this.labelsOf(each, name));
    if (WITHOUT_LABELS.has(name)) return null;
    if (name === 'absent') return this.#asked(given[0] as SyntaxNode);
    const labels = all[VECTOR_COMES_SECOND.has(name) ? 1 : 0] ?? null;
    if (name !== 'histogram_quantile') return labels;
    if (!labels?.has('le')) this.faults.push('histogram_quantile is given nothing by "le"');
    return without(labels, ['le']);
  }

  /** What `absent` reports: the labels that were asked for by their value. */
  #asked(node: SyntaxNode): Labels {
    const exact = all(node, 'UnquotedLabelMatcher').filter(
      (each) => this.#word(child(each, 'MatchOp')) === '=',
    );
    return new Set(exact.map((each) => this.#word(child(each, 'LabelName'))));
  }

  #aggregated(node: SyntaxNode): Labels {
    const name = this.#word(child(node, 'AggregateOp'));
    const given = operands(child(node, 'FunctionCallBody')).at(-1) as SyntaxNode;
    const labels = this.labelsOf(given, name);
    const modifier = node.getChild('AggregateModifier');
    if (name === 'topk' || name === 'bottomk') return labels;
    if (!modifier) return new Set();
    const named = this.#names(child(modifier, 'GroupingLabels'));
    for (const label of named) {
      if (!labels?.has(label)) this.faults.push(`${name} asks for ${label}, which is not there`);
    }
    return modifier.getChild('By') ? new Set(named) : without(labels, named);
  }

  #combined(node: SyntaxNode): Labels {
    const [left, right] = operands(node).map((each) => this.labelsOf(each, null));
    if (!left || !right) return left ?? right ?? null;
    const modifier = node.getChild('MatchingModifierClause');
    if (node.getChild('Or')) return new Set([...left].filter((label) => right.has(label)));
    if (!modifier) {
      if ([...left].sort().join() !== [...right].sort().join()) {
        this.faults.push(`never matches: {${[...left].join()}} beside {${[...right].join()}}`);
      }
      return left;
    }
    const named = this.#names(child(modifier, 'GroupingLabels'));
    for (const label of named) {
      if (!left.has(label) || !right.has(label)) this.faults.push(`not on both sides: ${label}`);
    }
    const keepsLeft =
      node.getChild('And') ?? node.getChild('Unless') ?? modifier.getChild('GroupLeft');
    return keepsLeft ? left : new Set(named);
  }

  #names(labels: SyntaxNode): string[] {
    return labels.getChildren('LabelName').map((each) => this.#word(each));
  }

  #word(node: SyntaxNode): string {
    return this.#text.slice(node.from, node.to);
  }
}

function operands(node: SyntaxNode): SyntaxNode[] {
  const kinds = /Expr$|^FunctionCall$|Selector$|Literal$/;
  const children: SyntaxNode[] = [];
  for (let each = node.firstChild; each; each = each.nextSibling) {
    if (kinds.test(each.name)) children.push(each);
  }
  return children;
}

/** @throws Error when there is none. */
function child(node: SyntaxNode, name: string): SyntaxNode {
  const found = node.getChild(name);
  if (!found) throw new Error(`${node.name} without ${name}`);
  return found;
}

function all(node: SyntaxNode, name: string): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  node.cursor().iterate((each) => {
    if (each.name === name) found.push(each.node);
  });
  return found;
}

function without(labels: Labels, gone: readonly string[]): Labels {
  return labels && new Set([...labels].filter((label) => !gone.includes(label)));
}
