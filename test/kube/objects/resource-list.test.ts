import { readResourceList } from '../../../src/kube/objects/resource-list';

test('CPU in thousandths, others in whole units, and none beyond the largest amount', () => {
  const list = { cpu: '1500m', memory: '1Gi', 'example.com/gpu': '2', 'hugepages-2Mi': '9Ei' };
  expect([...readResourceList(list)]).toEqual([
    ['cpu', 1500],
    ['memory', 2 ** 30],
    ['example.com/gpu', 2],
    ['hugepages-2Mi', Number.MAX_SAFE_INTEGER],
  ]);
});

test('what is no quantity, or negative, is left out', () => {
  expect([...readResourceList({ cpu: 'two', memory: '-1', 'example.com/gpu': {} })]).toEqual([]);
});

test.each([null, undefined, [], 'cpu', 7])('no list: %j', (list) => {
  expect([...readResourceList(list)]).toEqual([]);
});

test('however many an author adds, those of the node are read', () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`a.example/${i}`, '1']));
  const read = readResourceList({ ...many, cpu: '1', memory: '1' });
  expect([read.get('cpu'), read.get('memory'), read.size]).toEqual([1000, 1, 66]);
});
