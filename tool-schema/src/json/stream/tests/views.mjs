// Writes views.jsonl: the partial values that npm `ai` reads from a JSON text after each of its characters.
//
//   npm install --prefix /tmp/ai ai@7 && node views.mjs /tmp/ai > views.jsonl
//
// A line is `{"text", "views": [[bytes, view], ...]}`, with an entry where the view changes. Views with half a surrogate pair
// are left out: `ai` shows such halves, and no Rust text can hold them. The texts have no `e+`, because `ai` 7.0.173 does not
// know the plus sign, and shows too little until the number ends. They have no escaped quote in a name, because `ai` reads it
// as the name's end.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(`${process.argv[2]}/`));
const { parsePartialJson } = await import(pathToFileURL(require.resolve('ai')));

const texts = [
  '{"city": "Berlin", "days": 12, "metric": true}',
  ' { "a" : [ 1 , -2.50 , 3e2,4E-1 , -0.5e1 ] , "b" : null }\n',
  '[true,false,null,[],{},""]',
  '{"text":"say \\"hi\\"\\n\\tC:\\\\dir\\/\\u00e9\\u20AC\\b\\f\\r"}',
  '["\\ud83d\\ude00!","a\\uD834\\uDD1Eb"]',
  '{"größe":"üñ€😀","名":["日本",{"語":"é"}]}',
  '{"a":1,"b":{"a":2},"a":{"x":[3]},"b":"last"}',
  '{"stops":[{"city":"Köln","at":{"lat":50.9,"lon":6.96}},{"city":"Bonn"}],"n":10}',
  '[[[["deep",[0]],1.5],2],10]',
  '"a text alone"',
  '-12.75',
  'false',
  ' null ',
  '{"":{"":""}," ":"{[,:]}\\"","t":"true","n":-1}',
  '{"code":"fn main() {\\n    println!(\\"{}\\", \'x\');\\n}\\n","tests":false}',
  '[0,0.0,0e1,100,1.1099999999999999,123456789012345.67]',
];

for (const text of texts) {
  JSON.parse(text);
  const views = [];
  let last;
  let prefix = '';
  for (const character of text) {
    prefix += character;
    const { value } = await parsePartialJson(prefix);
    const view = JSON.stringify(value);
    // JSON.stringify writes halves as escapes.
    if (view === undefined || view === last || /\\ud[89a-f]/.test(view)) continue;
    views.push([Buffer.byteLength(prefix), value]);
    last = view;
  }
  console.log(JSON.stringify({ text, views }));
}
