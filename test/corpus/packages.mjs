// Names of packages that projects use most, and of large sources. They are installed by their registries' own clients.

const words = (text) => text.trim().split(/\s+/);

export const npmPackages = words(`
  semver debug chalk ms ansi-styles supports-color minimatch strip-ansi lru-cache ansi-regex tslib commander color-convert
  color-name brace-expansion balanced-match concat-map glob which yallist has-flag readable-stream string-width
  emoji-regex uuid source-map iconv-lite safe-buffer string_decoder inherits isarray util-deprecate minipass
  signal-exit wrap-ansi path-key cross-spawn shebang-command shebang-regex isexe is-stream execa get-stream mimic-fn
  onetime npm-run-path find-up locate-path p-locate p-limit p-try path-exists yargs yargs-parser y18n cliui
  escalade get-caller-file require-directory resolve path-parse is-core-module hasown function-bind call-bind
  get-intrinsic has-symbols has-proto es-define-property gopd es-errors define-properties object-keys object-inspect
  side-channel qs mime-types mime-db mime form-data combined-stream delayed-stream asynckit axios follow-redirects
  proxy-from-env express body-parser cookie cookie-signature finalhandler send serve-static accepts negotiator
  content-type content-disposition type-is bytes raw-body http-errors statuses depd setprototypeof toidentifier
  on-finished ee-first parseurl path-to-regexp range-parser fresh etag vary lodash underscore async bluebird rxjs
  react react-dom scheduler prop-types react-is typescript esbuild rollup webpack vite postcss autoprefixer
  browserslist caniuse-lite electron-to-chromium node-releases terser acorn esprima estraverse esutils eslint
  prettier jest mocha chai sinon vitest @babel/core @babel/parser @babel/types @babel/traverse @babel/generator
  @babel/code-frame @types/node @types/react @jridgewell/trace-mapping @jridgewell/sourcemap-codec js-yaml argparse
  json5 ajv fast-deep-equal json-schema-traverse uri-js punycode fast-json-stable-stringify dotenv ws socket.io
  engine.io node-fetch whatwg-url tr46 undici got request tough-cookie agent-base https-proxy-agent http-proxy-agent
  tunnel-agent jsonwebtoken jws jwa ecdsa-sig-formatter node-forge elliptic bn.js hash.js asn1.js sshpk http-signature
  ssh2 nodemailer mongodb mongoose pg mysql2 redis ioredis knex sequelize aws-sdk @aws-sdk/client-s3 fs-extra
  graceful-fs rimraf mkdirp chokidar micromatch braces fill-range to-regex-range is-number anymatch picomatch
  fast-glob tar adm-zip moment dayjs date-fns zod immutable classnames inquirer ora vue next core-js regenerator-runtime
`);

export const pypiPackages = words(`
  boto3 urllib3 botocore requests certifi idna charset-normalizer typing-extensions python-dateutil s3transfer six
  packaging numpy pyyaml setuptools cryptography fsspec cffi pycparser click jmespath pydantic pydantic-core
  annotated-types pip s3fs attrs importlib-metadata zipp rsa pyasn1 pyasn1-modules pandas pytz tzdata wheel colorama
  jinja2 markupsafe filelock platformdirs virtualenv distlib pluggy pytest iniconfig tomli googleapis-common-protos
  protobuf google-api-core google-auth cachetools grpcio grpcio-status requests-oauthlib oauthlib pyjwt pyparsing
  aiohttp yarl multidict frozenlist aiosignal async-timeout wrapt psutil sqlalchemy greenlet aiobotocore pyarrow
  rich pygments markdown-it-py mdurl tqdm docutils decorator websocket-client jsonschema jsonschema-specifications
  referencing rpds-py requests-toolbelt beautifulsoup4 soupsieve lxml pillow scipy anyio sniffio httpx httpcore h11
  httplib2 openpyxl et-xmlfile google-cloud-storage google-cloud-core google-resumable-media google-crc32c
  google-cloud-bigquery google-auth-oauthlib azure-core azure-identity azure-storage-blob msal msal-extensions
  msrest isodate deprecated portalocker werkzeug flask itsdangerous blinker gunicorn uvicorn fastapi starlette
  django sqlparse asgiref djangorestframework celery kombu billiard vine amqp redis psycopg2-binary pymysql pymongo
  paramiko bcrypt pynacl pyopenssl service-identity twisted automat constantly incremental hyperlink zope-interface
  scrapy tornado jupyter-core jupyter-client ipython ipykernel traitlets notebook nbformat nbconvert pyzmq prompt-toolkit
  wcwidth jedi parso pexpect ptyprocess matplotlib kiwisolver cycler fonttools contourpy scikit-learn joblib
  threadpoolctl networkx sympy mpmath regex nltk tiktoken openai tokenizers huggingface-hub safetensors black isort
  flake8 mypy mypy-extensions pylint astroid coverage tox ruff poetry-core hatchling build pyproject-hooks more-itertools
  keyring jaraco-classes secretstorage jeepney docker kubernetes ansible-core fabric invoke tabulate termcolor
  toml tomlkit ruamel-yaml python-dotenv smmap gitdb gitpython trove-classifiers shellingham tenacity marshmallow
  orjson simplejson ujson msgpack alembic mako arrow loguru sentry-sdk prometheus-client opentelemetry-api
`);

// Not GnuTLS: its tests have damaged keys, which are hidden and which OpenSSL cannot read.
export const debianSources = ["curl", "git", "nginx"];
