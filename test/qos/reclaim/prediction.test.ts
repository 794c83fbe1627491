import { predictionNameOf } from '../../../src/qos/prediction/prediction-spec';
import { predictedNeed, type TimeSeriesPrediction } from '../../../src/qos/reclaim/prediction';

const MINUTE_MS = 60_000;
const samples = (...values: readonly number[]) => values.map((value, index) => ({ atMs: index * MINUTE_MS, value }));
const PREDICTION: TimeSeriesPrediction = {
  target: '10.0.0.7',
  series: [
    { resource: 'cpu', samples: samples(9, 2, 3.5, 1) },
    { resource: 'cpu', samples: samples(1, 1, 1, 3) },
    { resource: 'memory', samples: samples(5e9, 6e9, 7e9, 4e9) },
  ],
};
const ADDRESSES = ['10.0.0.7', 'node-a'];

test.each`
  name                                              | atMinute | milliCpu     | memoryBytes
  ${'before the first sample, all count'}           | ${-1}    | ${9_000}     | ${7e9}
  ${'a sample of just now counts'}                  | ${0}     | ${9_000}     | ${7e9}
  ${'the sample in force counts'}                   | ${0.5}   | ${9_000}     | ${7e9}
  ${'samples in the past do not'}                   | ${1}     | ${3_500}     | ${7e9}
  ${'the last sample counts until its time'}        | ${3}     | ${3_000}     | ${4e9}
  ${'a prediction that has ended predicts nothing'} | ${3.1}   | ${undefined} | ${undefined}
`('$name', ({ atMinute, milliCpu, memoryBytes }) => {
  const need = predictedNeed(PREDICTION, ADDRESSES, atMinute * MINUTE_MS);
  expect([need.milliCpu, need.memoryBytes]).toEqual([milliCpu, memoryBytes]);
});

test.each`
  name              | prediction                               | because
  ${'no object'}    | ${undefined}                             | ${'there is no prediction'}
  ${'another node'} | ${{ ...PREDICTION, target: '10.0.0.8' }} | ${'the prediction is about 10.0.0.8, which is no address of this node'}
  ${'no target'}    | ${{ ...PREDICTION, target: '' }}         | ${'the prediction is about nothing, which is no address of this node'}
  ${'no series'}    | ${{ ...PREDICTION, series: [] }}         | ${'the prediction has no sample from now on'}
`('$name predicts nothing', ({ prediction, because }) => {
  expect(predictedNeed(prediction, ADDRESSES, 0)).toEqual({ because });
});

test('samples in any order are the same prediction', () => {
  const { series } = PREDICTION;
  const reversed = series.map((each) => ({ ...each, samples: [...each.samples].reverse() }));
  for (const atMinute of [-1, 0.5, 1, 2.5, 3])
    expect(predictedNeed({ ...PREDICTION, series: reversed }, ADDRESSES, atMinute * MINUTE_MS)).toEqual(
      predictedNeed(PREDICTION, ADDRESSES, atMinute * MINUTE_MS),
    );
});

test('the object of a node has its name', () => {
  expect(predictionNameOf('node-a')).toBe('noderesource-node-a');
});
