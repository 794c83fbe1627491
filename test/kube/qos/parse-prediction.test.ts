import fc from 'fast-check';
import { parsePrediction } from '../../../src/kube/qos/parse-prediction';

/** As craned writes it, with the fields that do not decide. */
const OBJECT = {
  apiVersion: 'prediction.crane.io/v1alpha1',
  kind: 'TimeSeriesPrediction',
  metadata: { name: 'noderesource-node-a', namespace: 'crane-system' },
  spec: {
    predictionMetrics: [{ resourceIdentifier: 'cpu', type: 'ExpressionQuery' }],
    predictionWindowSeconds: 3600,
    targetRef: { apiVersion: 'v1', kind: 'Node', name: '10.0.0.7' },
  },
  status: {
    conditions: [{ type: 'Ready', status: 'True' }],
    predictionMetrics: [
      {
        resourceIdentifier: 'cpu',
        ready: true,
        prediction: [
          {
            labels: [{ name: 'instance', value: '10.0.0.7' }],
            samples: [
              { value: '3.25', timestamp: 1_700_000_000 },
              { value: '4e0', timestamp: 1_700_000_060 },
            ],
          },
        ],
      },
      { resourceIdentifier: 'memory', prediction: [{ samples: [{ value: '1073741824', timestamp: 1_700_000_000 }] }] },
    ],
  },
};
const WANTED = {
  target: '10.0.0.7',
  series: [
    {
      resource: 'cpu',
      samples: [
        { atMs: 1_700_000_000_000, value: 3.25 },
        { atMs: 1_700_000_060_000, value: 4 },
      ],
    },
    { resource: 'memory', samples: [{ atMs: 1_700_000_000_000, value: 2 ** 30 }] },
  ],
};

test('an object of the API server', () => {
  expect(parsePrediction(OBJECT)).toEqual(WANTED);
});

test('an object of an older version, whose list has another name', () => {
  const { predictionMetrics: metricPredictedDataList } = OBJECT.status;
  expect(parsePrediction({ ...OBJECT, status: { metricPredictedDataList } })).toEqual(WANTED);
});

test.each`
  name                   | sample
  ${'no number'}         | ${{ value: 'abc', timestamp: 1 }}
  ${'an empty value'}    | ${{ value: ' ', timestamp: 1 }}
  ${'a number, no text'} | ${{ value: 3, timestamp: 1 }}
  ${'negative'}          | ${{ value: '-1', timestamp: 1 }}
  ${'infinite'}          | ${{ value: 'Infinity', timestamp: 1 }}
  ${'no time'}           | ${{ value: '1' }}
  ${'a time as text'}    | ${{ value: '1', timestamp: '1' }}
  ${'no object'}         | ${null}
`('a sample that is $name is left out', ({ sample }) => {
  const good = { value: '1', timestamp: 2 };
  const predictionMetrics = [{ resourceIdentifier: 'cpu', prediction: [{ samples: [sample, good] }] }];
  const { series } = parsePrediction({ ...OBJECT, status: { predictionMetrics } });
  expect(series).toEqual([{ resource: 'cpu', samples: [{ atMs: 2000, value: 1 }] }]);
});

test('a series of another resource is left out', () => {
  const predictionMetrics = [
    { resourceIdentifier: 'disk', prediction: OBJECT.status.predictionMetrics[0]!.prediction },
  ];
  expect(parsePrediction({ ...OBJECT, status: { predictionMetrics } }).series).toEqual([]);
});

test('any JSON is answered', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (status, spec) => {
      expect(Array.isArray(parsePrediction({ spec, status }).series)).toBe(true);
      expect(typeof parsePrediction(status).target).toBe('string');
    }),
  );
});
