import { demand } from '../../src/app/demand';
import { CpusetdError } from '../../src/core/errors';
import { HostLockError } from '../../src/host';

const failing = (error: Error) => (): never => {
  throw error;
};

test('demand returns the value', () => {
  expect(demand(() => 1)).toBe(1);
});

test('an error of the host becomes FAILED_PRECONDITION with the same message', () => {
  const error = new HostLockError('the directory is not there');
  expect(() => demand(failing(error))).toThrow(CpusetdError);
  expect(() => demand(failing(error))).toThrow(
    expect.objectContaining({ code: 'FAILED_PRECONDITION', message: error.message, cause: error }),
  );
});

test('any other error is thrown unchanged', () => {
  const error = new TypeError('an internal fault');
  expect(() => demand(failing(error))).toThrow(error);
});
