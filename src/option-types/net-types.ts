import { accept, reject, type ValueType } from './value-type';

/** The path of a file; relative ones are of the working directory. */
export const filePath: ValueType<string> = {
  placeholder: 'file',
  parse: (text) => {
    if (text === '') return reject('names no file', 'write the path of a file');
    return /\p{Cc}/u.test(text) ? reject('has a control character', 'remove it') : accept(text);
  },
};

/** The base address of an HTTP server, with or without a path. Paths of the API are added to it. */
export const httpUrl: ValueType<string> = {
  placeholder: 'url',
  parse: (text) => {
    const remedy = 'write it like http://prometheus:9090 or https://host/path';
    if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return reject('is not an HTTP address', remedy);
    const { search, hash } = new URL(text);
    return search === '' && hash === '' ? accept(text) : reject('has a query or a fragment', remedy);
  },
};

/** A boolean as Go's flags accept it. */
export const goBoolean: ValueType<boolean> = {
  placeholder: 'true|false',
  parse: (text) => {
    if (/^(?:1|t|T|true|TRUE|True)$/.test(text)) return accept(true);
    if (/^(?:0|f|F|false|FALSE|False)$/.test(text)) return accept(false);
    return reject('is not a switch', 'write true or false');
  },
};
