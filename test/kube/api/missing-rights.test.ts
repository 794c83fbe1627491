import { KubeError } from '../../../src/kube/api/kube-error';
import { MissingRights } from '../../../src/kube/api/missing-rights';

const RIGHT = { verb: 'patch', resource: 'nodes/status', lost: 'the Node has no condition' };

function listen() {
  const lines: object[] = [];
  const log = { info: (fields: object) => void lines.push(fields) } as unknown as ConstructorParameters<
    typeof MissingRights
  >[0];
  return { lines, rights: new MissingRights(log) };
}

test.each<[string, unknown, boolean]>([
  ['forbidden, by the client', new KubeError('forbidden', 403), true],
  ['unauthorized', new KubeError('unauthorized', 401), false],
  ['absent', new KubeError('absent', 404), false],
  ['no answer', new KubeError('no answer', 0), false],
  ['a fault of ours', new TypeError('x is undefined'), false],
  ['nothing', undefined, false],
])('%s', (_name, error, isMissing) => {
  const { lines, rights } = listen();
  expect(rights.note(error, RIGHT)).toBe(isMissing);
  expect(lines).toHaveLength(isMissing ? 1 : 0);
});

test('each right is logged once, with the verb, the resource and the loss', () => {
  const { lines, rights } = listen();
  const error = new KubeError('forbidden', 403);
  for (let i = 0; i < 3; i++) for (const verb of ['patch', 'get']) rights.note(error, { ...RIGHT, verb });
  expect(lines).toEqual([
    { ...RIGHT, because: 'forbidden' },
    { ...RIGHT, verb: 'get', because: 'forbidden' },
  ]);
});
