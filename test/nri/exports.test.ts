import * as generated from '../../gen/nri/v1alpha1/nri';
import * as exported from '../../src/nri';

/** A generated enum is an object with the number UNRECOGNIZED; a message is one with codecs. */
function isEnum(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'UNRECOGNIZED' in value;
}

test('given the enums of nri.proto, then cpusetd/nri exports each of them', () => {
  const enums = Object.entries(generated).filter(([, value]) => isEnum(value));
  expect(enums.length).toBeGreaterThan(8);
  expect(exported).toMatchObject(Object.fromEntries(enums));
});
