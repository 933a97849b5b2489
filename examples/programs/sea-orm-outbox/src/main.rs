//! Articles with sea-orm on SQLite: what is published and the job that tells its readers are one transaction.

use std::sync::mpsc::channel;
use std::time::Duration;

use mainspring_embed::{Handler, Jobs, Run};
use sea_orm::entity::prelude::*;
use sea_orm::{ActiveValue::Set, ConnectionTrait, Database, Schema, Statement, TransactionTrait};

mod article {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "article")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub title: String,
    }

    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

type Error = Box<dyn std::error::Error>;

const TELL: Handler<i32> = Handler::new("tell-readers");

async fn publish(database: &DatabaseConnection, jobs: &Jobs, title: &str) -> Result<i32, Error> {
    let transaction = database.begin().await?;
    let new = article::ActiveModel { title: Set(title.to_owned()), ..Default::default() };
    let article = new.insert(&transaction).await?;
    let tell = jobs.once(TELL).key(article.id.to_string()).payload(&article.id);
    let backend = transaction.get_database_backend();
    let statement =
        tell.submit_in(|sql, text| Statement::from_sql_and_values(backend, sql, [text.into()]))?;
    transaction.execute(statement).await?;
    transaction.commit().await?;
    Ok(article.id)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let folder = std::env::args().nth(1).ok_or("the name of a folder is missing")?;
    std::fs::create_dir_all(&folder)?;
    let file = format!("{folder}/articles.db");
    let database = Database::connect(format!("sqlite://{file}?mode=rwc")).await?;
    let backend = database.get_database_backend();
    let table = Schema::new(backend).create_table_from_entity(article::Entity).if_not_exists().to_owned();
    database.execute(backend.build(&table)).await?;
    let (sender, told) = channel();
    let builder = Jobs::open(format!("{folder}/jobs"))?.outbox(&file);
    let jobs = builder.handler(TELL, move |_: &Run, id: i32| sender.send(id)).start()?;
    let id = publish(&database, &jobs, "The wheel").await?;
    let told = tokio::task::spawn_blocking(move || told.recv_timeout(Duration::from_secs(60))).await??;
    println!("article {told} is out");
    assert_eq!((told, article::Entity::find().count(&database).await?), (id, 1));
    tokio::task::spawn_blocking(move || jobs.shutdown(Duration::from_secs(30))).await??;
    Ok(())
}
