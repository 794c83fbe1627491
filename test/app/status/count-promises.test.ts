import { countPromises } from '../../../src/app/status/count-promises';
import type { VerdictKind } from '../../../src/core/verdict/judge';
import { NodeDriver } from '../../core/transition/node-driver';

const verdictsOf = (kinds: Readonly<Record<string, VerdictKind>>) => ({
  get: (id: string) => {
    const kind = Object.entries(kinds).find(([name]) => id.includes(name))?.[1];
    return kind && ({ verdict: { kind, because: '' } } as never);
  },
});

test('pinned containers are counted, and of verdicts only those that need a look, in a fixed order', () => {
  const node = new NodeDriver();
  node.run('make a/x 2; make b/x 1; make c/x 0');
  const ids = [...node.model.containers.keys()];
  expect(ids).toHaveLength(3);
  const kinds = Object.fromEntries([
    [ids[0]!, 'violated'],
    [ids[1]!, 'kept'],
    [ids[2]!, 'drifted'],
  ]) as Record<string, VerdictKind>;
  const counts = countPromises(node.model, verdictsOf(kinds));
  expect(JSON.stringify(counts)).toBe('{"pinned":2,"verdicts":{"drifted":1,"violated":1}}');
  expect(countPromises(node.model, verdictsOf({}))).toEqual({ pinned: 2, verdicts: {} });
});
