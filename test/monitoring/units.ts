import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';

/** `count`: of something that is no amount of CPUs or time, also 0 and 1 for no and yes. */
export type Unit = 'CPUs' | 'thousandths of a CPU' | 's' | 'ratio' | 'per cent' | 'bytes' | 'count';

/** The first that matches. Names from `cpu_total_usage` on are Crane's, which have no units. */
const UNITS: readonly (readonly [name: RegExp, unit: Unit])[] = [
  [/_bucket$/, 'count'],
  [/_millicores$|^cpusetd_(cpu_total_usage|exclusive_cpu_(idle|owners|others))$/, 'thousandths of a CPU'],
  [/_(total_|disk_read_)utilization$|_ext_cpu_total_distribute$/, 'per cent'],
  [/_ratio$/, 'ratio'],
  [/_seconds(_total|_per_second)?$/, 's'],
  [/_bytes$|_mem(ory)?_total(_usage)?$/, 'bytes'],
  [
    /_cpus$|_(exclusive_cpu_allocation_count|allocation_per_numa|cpu_core_numbers|lent_cpu_cores|used_cores|container_cpu_total_usage)$/,
    'CPUs',
  ],
];

/** The unit of a metric, by its name. */
export const unitOfMetric = (metric: string): Unit => UNITS.find(([name]) => name.test(metric))?.[1] ?? 'count';

/** Divisors that turn one unit into another. */
const SCALES: readonly (readonly [from: Unit, by: number, to: Unit])[] = [
  ['thousandths of a CPU', 1000, 'CPUs'],
  ['per cent', 100, 'ratio'],
];

/**
 * The unit of the values of an expression. A number by itself is a count, and a ratio where it is multiplied.
 * @throws Error for arithmetic of which it knows no unit, such as a sum of CPUs and seconds
 */
export function unitOf(expression: string): Unit {
  const textOf = ({ from, to }: { readonly from: number; readonly to: number }) => expression.slice(from, to);
  const unitIn = (node: SyntaxNode): Unit => {
    const unknown = () => new Error(`no unit is known of ${textOf(node)} in ${expression}`);
    const [first, second] = children(node);
    switch (node.name) {
      case 'VectorSelector':
        return unitOfMetric(textOf(node.getChild('Identifier')!));
      case 'NumberDurationLiteral':
        return 'count';
      case 'AggregateExpr':
        return first!.firstChild?.name === 'Count' ? 'count' : unitIn(lastChild(node.getChild('FunctionCallBody')!));
      case 'FunctionCall': {
        const [name, body] = [textOf(first!), lastChild(node.getChild('FunctionCallBody')!)];
        if (name === 'time') return 's';
        if (name === 'increase' || name === 'sort_desc') return unitIn(body);
        // Buckets by their bounds.
        if (name === 'histogram_quantile') return unitOfMetric(/(\w+)_bucket/.exec(textOf(body))![1]!);
        if (name === 'rate' && unitIn(body) === 'count') return 'count';
        throw unknown();
      }
      case 'PromQL':
      case 'ParenExpr':
      case 'MatrixSelector':
        return unitIn(first!);
      case 'BinaryExpr': {
        const [left, right] = [unitIn(first!), unitIn(lastChild(node))];
        switch (second!.name) {
          case 'Add':
          case 'Sub':
            if (left === right) return left;
            break;
          case 'Mul':
            if (['count', 'ratio'].includes(left)) return right;
            if (['count', 'ratio'].includes(right)) return left;
            break;
          case 'Div': {
            if (left === right && left !== 'count') return 'ratio';
            const scale = SCALES.find(([from, by]) => from === left && String(by) === textOf(lastChild(node)));
            if (scale) return scale[2];
            break;
          }
          case 'Or':
            if (left === right) return left;
            break;
          case 'And':
            return left;
          case 'Eql':
          case 'Lss':
          case 'Gtr':
            return node.getChild('BoolModifier') ? 'count' : left;
        }
        throw unknown();
      }
      default:
        throw unknown();
    }
  };
  return unitIn(parser.parse(expression).topNode);
}

/** The expression with the interval of a graph in place of Grafana's variables. `seconds`: a whole number. */
export function withRateInterval(expression: string, seconds: number): string {
  return expression
    .replaceAll('$__rate_interval_ms', String(seconds * 1000))
    .replaceAll('$__rate_interval', `${seconds}s`);
}

function children(node: SyntaxNode): readonly SyntaxNode[] {
  const found: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) found.push(child);
  return found;
}

const lastChild = (node: SyntaxNode): SyntaxNode => node.lastChild!;
