import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';

/** A use of a metric in an expression. */
export interface Selector {
  readonly metric: string;
  /** Labels that it is matched, grouped or joined by. */
  readonly labels: readonly string[];
}

/** The metrics of an expression, with their labels. Throws with the place where the expression can't be parsed. */
export function listSelectors(expression: string): readonly Selector[] {
  const textOf = ({ from, to }: { readonly from: number; readonly to: number }) => expression.slice(from, to);
  const labelsIn = (node: SyntaxNode): string[] => {
    const found: string[] = [];
    node.cursor().iterate(({ name, from, to }) => {
      if (name === 'LabelName') found.push(textOf({ from, to }));
    });
    return found;
  };
  const selectors: Selector[] = [];
  parser.parse(expression).iterate({
    enter: ({ type, node }) => {
      if (type.isError)
        throw new Error(`not PromQL at character ${node.from}: ${expression.slice(node.from)} of ${expression}`);
      if (type.name !== 'VectorSelector') return;
      const name = node.getChild('Identifier');
      if (!name) throw new Error(`a selector without a metric: ${textOf(node)}`);
      const labels = labelsIn(node);
      // The labels of an aggregation or a join hold for the selectors below.
      for (let [below, above] = [node, node.parent]; above; [below, above] = [above, above.parent]) {
        for (const part of ['AggregateModifier', 'MatchingModifierClause'])
          for (const modifier of above.getChildren(part)) {
            if (modifier.getChild('Ignoring')) continue; // one side alone has these labels
            // Of a join the labels after `on`; those of group_left belong to one side only.
            const [first] = modifier.getChildren('GroupingLabels');
            if (first) labels.push(...labelsIn(first));
          }
        // The right side of these says which series of the left one are kept, and none of its labels come through.
        const keepsLeft = above.getChild('And') ?? above.getChild('Unless');
        if (keepsLeft && below.from > keepsLeft.from) break;
      }
      selectors.push({ metric: textOf(name), labels: [...new Set(labels)] });
    },
  });
  return selectors;
}
